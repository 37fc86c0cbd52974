// Finds, once an iteration, the moment at which least memory is in use.
//
// What upstream caches, and where its holes lie, is history: of the same requests it may refuse one in one
// iteration and another in the next. Where least is in use, only what lasts is, and that lies where it lay.
// If the cache is released then, iterations begin in the same state, from one such moment to the next.
//
// How little that is, the last iterations told; a mark may come several times in what the job calls one (two
// optimizers make two), so the least of several counts. Thread safety: note() and is_reached() from any
// thread, and they take no lock; begin_iteration() from one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

namespace stowage::plugin {

class LowPoint {
 public:
  /// So many bytes more are in use; below 0: fewer.
  void note(std::int64_t delta) noexcept {
    const std::int64_t in_use = in_use_.fetch_add(delta, std::memory_order_relaxed) + delta;
    if (delta >= 0) return;
    std::int64_t lowest = lowest_.load(std::memory_order_relaxed);
    while (in_use < lowest && !lowest_.compare_exchange_weak(lowest, in_use, std::memory_order_relaxed)) {
    }
  }

  /// A mark: an iteration ended. `wanted`: report the next iteration's low point.
  void begin_iteration(bool wanted) noexcept {
    const std::int64_t in_use = in_use_.load();
    lows_[marks_++ % lows_.size()] = std::min(lowest_.exchange(in_use), in_use);
    const auto end = lows_.begin() + static_cast<std::ptrdiff_t>(std::min(marks_, lows_.size()));
    told_at_.store(wanted ? *std::min_element(lows_.begin(), end) + kDrift : kNever);
  }

  /// Asked before each request. True once an iteration at most.
  [[nodiscard]] bool is_reached() noexcept {
    std::int64_t at = told_at_.load(std::memory_order_relaxed);
    if (at == kNever || in_use_.load(std::memory_order_relaxed) > at) return false;
    return told_at_.compare_exchange_strong(at, kNever);
  }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kDrift =
      16384;  // bytes that a job may gather in these iterations: its losses
  static constexpr std::size_t kMarks = 8;

  std::atomic<std::int64_t> in_use_{0};
  std::atomic<std::int64_t> lowest_{std::numeric_limits<std::int64_t>::max()};  ///< in the present iteration
  std::atomic<std::int64_t> told_at_{kNever};
  std::array<std::int64_t, kMarks> lows_{};  ///< of the last iterations
  std::size_t marks_ = 0;
};

}  // namespace stowage::plugin
