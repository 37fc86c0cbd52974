// How CUPTI's clock runs beside the host's.
//
// CUPTI's times are nanoseconds of CLOCK_REALTIME, unless another client has put a clock of its own in their
// place: PyTorch's profiler, once it was used, leaves one behind that counts the processor's ticks. So both
// clocks are read together where a recording begins and ends.
//
// Thread safety: plain data and pure functions.
#pragma once

#include <cstdint>

namespace stowage::tracer::cupti {

/// Both clocks at one moment.
struct ClockPair {
  std::uint64_t cupti = 0;        ///< in CUPTI's ticks
  std::uint64_t steady_ns = 0;    ///< CLOCK_MONOTONIC
  std::uint64_t realtime_ns = 0;  ///< CLOCK_REALTIME
};

class ClockMap {
 public:
  ClockMap() = default;
  /// Requires: `last` is later than `first`, or equal.
  ClockMap(const ClockPair& first, const ClockPair& last);

  /// CUPTI does not count nanoseconds of CLOCK_REALTIME.
  [[nodiscard]] bool is_foreign() const { return foreign_; }
  /// A length in CUPTI's ticks, in ns of the GPU's work.
  [[nodiscard]] std::uint64_t length_ns(std::uint64_t ticks) const;
  /// A moment in CUPTI's ticks as CLOCK_MONOTONIC would show it; for pictures. Linear between the two pairs.
  [[nodiscard]] std::uint64_t steady_ns(std::uint64_t cupti) const;

 private:
  ClockPair first_;
  double steady_per_tick_ = 1;
  bool foreign_ = false;
};

}  // namespace stowage::tracer::cupti
