// What measures the device's time of the ops of logged iterations. Implemented above (plugin/torch), since
// the clocks belong to the tracer.
//
// Thread safety: the runtime's lock guards each call; start() and stop() of one op come from the same thread.
// No member throws.
#pragma once

#include <cstdint>
#include <vector>

#include "core/activity.h"

namespace stowage::recompute {

/// What start() knows of an op, for stop(); what the words mean is the timer's own.
struct TimedOp {
  void* event = nullptr;
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
};

class OpTimer {
 public:
  virtual ~OpTimer() = default;
  /// How many iterations should be logged, so that a median means something; at least 1.
  [[nodiscard]] virtual std::uint32_t iterations() const = 0;
  /// An op is about to run on the calling thread.
  virtual TimedOp start() noexcept = 0;
  /// It has ended, and is called `op`: each number once.
  virtual void stop(const TimedOp& started, std::uint32_t op) noexcept = 0;

  struct Time {
    std::uint32_t op = 0;
    std::uint64_t ns = 0;
    TimeSource source = TimeSource::kNone;
  };
  /// The times of the ops that have ended. May wait for the device.
  virtual std::vector<Time> read() noexcept = 0;
};

}  // namespace stowage::recompute
