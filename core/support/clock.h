// The clock that durations are measured with.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace stowage {

/// Nanoseconds of a clock that never goes back; its zero means nothing.
inline std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace stowage
