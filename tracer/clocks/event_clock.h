// The clock of an accelerator's ops: an event on the current stream before and after each op, read when both
// have passed.
//
// Goes through c10's device guard, which every backend brings: nothing of CUDA is linked. Events are pooled.
// The time is that between the two events on the stream, so it includes what other threads put there
// meanwhile, and what the host let pass between two launches.
//
// Thread safety: as OpClock. No member throws: an op whose events fail has no duration.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "tracer/clocks/op_clock.h"

namespace stowage::tracer {

class EventClock final : public OpClock {
 public:
  /// For ops on `device`; `guard` is c10's for that kind of device and outlives the clock. At most
  /// `max_pending` ops wait for their durations; the ones beyond have none.
  EventClock(c10::Device device, const c10::impl::DeviceGuardImplInterface* guard,
             std::size_t max_pending = 200'000);
  ~EventClock() override;
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;

  StartedOp start() override;
  void stop(const StartedOp& started, OpId op) override;
  ClockReading read(bool may_wait) override;

 private:
  struct Pending {
    OpId op = kNoOp;
    void* before = nullptr;
    void* after = nullptr;
  };

  void* record_now();
  void* take_event();
  void give_back(void* event);
  void wait_for_device() const;
  bool has_passed(const Pending& pending) const;
  /// Nothing if the device fails.
  std::optional<std::uint64_t> elapsed_ns(const Pending& pending) const;

  const c10::Device device_;
  const c10::impl::DeviceGuardImplInterface* const guard_;
  const std::size_t max_pending_;
  std::mutex mutex_;
  std::vector<void*> free_;
  std::deque<Pending> pending_;  // oldest first
};

}  // namespace stowage::tracer
