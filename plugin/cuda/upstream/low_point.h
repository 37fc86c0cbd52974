// Detects, once per iteration, the moment at which the least memory is in use.
//
// Upstream's cache and its holes depend on past requests: from the same requests it may refuse a different
// one in each iteration. At the low point only long-lived blocks are in use, and those do not move. Emptying
// the cache then makes every period from one low point to the next begin alike.
//
// The last iterations show how low the use gets. A job may set several marks per iteration (two optimizers
// set two), so the lowest of several marks counts. Thread safety: note() and is_reached() from any thread,
// without a lock; begin_iteration() from one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include "core/support/extremes.h"

namespace stowage::plugin {

class LowPoint {
 public:
  /// `delta` more bytes are in use; below 0: fewer.
  void note(std::int64_t delta) noexcept {
    const std::int64_t in_use = in_use_.fetch_add(delta, std::memory_order_relaxed) + delta;
    if (delta >= 0) return;
    lower_to(lowest_, in_use);
  }

  /// A mark: an iteration ended. `wanted`: report the low point of the next one.
  void begin_iteration(bool wanted) noexcept {
    const std::int64_t in_use = in_use_.load();
    lows_[marks_++ % lows_.size()] = std::min(lowest_.exchange(in_use), in_use);
    const auto end = lows_.begin() + static_cast<std::ptrdiff_t>(std::min(marks_, lows_.size()));
    told_at_.store(wanted ? *std::min_element(lows_.begin(), end) + kDrift : kNever);
  }

  /// Call before each request. True at most once per iteration.
  [[nodiscard]] bool is_reached() noexcept {
    std::int64_t at = told_at_.load(std::memory_order_relaxed);
    if (at == kNever || in_use_.load(std::memory_order_relaxed) > at) return false;
    return told_at_.compare_exchange_strong(at, kNever);
  }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kDrift =
      16384;  // bytes by which a job may grow meanwhile, such as collected losses
  static constexpr std::size_t kMarks = 8;

  std::atomic<std::int64_t> in_use_{0};
  std::atomic<std::int64_t> lowest_{std::numeric_limits<std::int64_t>::max()};  ///< in the present iteration
  std::atomic<std::int64_t> told_at_{kNever};
  std::array<std::int64_t, kMarks> lows_{};  ///< of the last iterations
  std::size_t marks_ = 0;
};

}  // namespace stowage::plugin
