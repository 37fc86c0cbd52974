// The clock of a GPU's ops: CUPTI, and events where CUPTI falls to another client.
//
// While the source records, an op pushes an id and its time is that of the GPU work which carries it. Once
// the source is lost, further ops are timed by events, and those that CUPTI has not delivered have no time.
//
// Thread safety: as OpClock.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tracer/clocks/op_clock.h"
#include "tracer/cupti/source.h"

namespace stowage::tracer {

class CuptiClock final : public OpClock {
 public:
  /// For ops on CUDA device number `device`. `events` also waits for the device before records are read.
  CuptiClock(std::shared_ptr<cupti::Source> source, std::shared_ptr<OpClock> events, std::uint32_t device)
      : source_(std::move(source)), events_(std::move(events)), device_(device) {}

  [[nodiscard]] std::uint32_t iterations() const override { return kIterations; }
  StartedOp start() override;
  void stop(const StartedOp& started, OpId op) override;
  ClockReading read(bool may_wait) override;

 private:
  /// The first one pays for attaching CUPTI and does not count.
  static constexpr std::uint32_t kIterations = 4;

  struct Ended {
    cupti::OpenedOp opened;
    OpId op = kNoOp;
  };

  const std::shared_ptr<cupti::Source> source_;
  const std::shared_ptr<OpClock> events_;
  const std::uint32_t device_;
  std::mutex mutex_;
  std::vector<Ended> ended_;
};

}  // namespace stowage::tracer
