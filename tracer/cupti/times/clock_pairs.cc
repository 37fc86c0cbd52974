#include "tracer/cupti/times/clock_pairs.h"

#include <cmath>

namespace stowage::tracer::cupti {
namespace {

// More than any step of the system's clock; less than that clock and one that counts from boot differ.
constexpr std::uint64_t kForeign = std::uint64_t{1'000'000} * 1'000'000'000;

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

}  // namespace

ClockMap::ClockMap(const ClockPair& first, const ClockPair& last)
    : first_(first), foreign_(distance(first.cupti, first.realtime_ns) > kForeign) {
  if (last.cupti <= first.cupti || last.steady_ns <= first.steady_ns) return;
  steady_per_tick_ =
      static_cast<double>(last.steady_ns - first.steady_ns) / static_cast<double>(last.cupti - first.cupti);
}

std::uint64_t ClockMap::length_ns(std::uint64_t ticks) const {
  if (!foreign_) return ticks;
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(ticks) * steady_per_tick_));
}

std::uint64_t ClockMap::steady_ns(std::uint64_t cupti) const {
  const bool before = cupti < first_.cupti;
  const std::uint64_t ticks = before ? first_.cupti - cupti : cupti - first_.cupti;
  const auto away = static_cast<std::uint64_t>(std::llround(static_cast<double>(ticks) * steady_per_tick_));
  if (!before) return first_.steady_ns + away;
  return first_.steady_ns > away ? first_.steady_ns - away : 0;
}

}  // namespace stowage::tracer::cupti
