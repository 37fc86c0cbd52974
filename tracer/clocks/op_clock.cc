#include "tracer/clocks/op_clock.h"

#include <algorithm>
#include <chrono>

namespace stowage::tracer {
namespace {

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

std::uint64_t HostOpClock::start() { return now_ns(); }

// At least 1, as 0 means that it was not measured.
std::uint64_t HostOpClock::stop(std::uint64_t started, OpId) {
  return std::max<std::uint64_t>(now_ns() - started, 1);
}

}  // namespace stowage::tracer
