// When a storage that outlives iterations is used next: where it was used in the iteration before. Parameters
// and optimizer state come round in the same order each time, so that the one that was not used for longest
// is often the next one; what is used last is the best one to offload (Belady, "A study of replacement
// algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966).
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace stowage::recompute {

/// A point in time: the `op`th op of an iteration. `ops`: how many the iteration before had.
struct Moment {
  std::uint64_t iteration = 0;
  std::uint64_t op = 0;
  std::uint64_t ops = 0;
};

class UseTimes {
 public:
  /// An op uses the storage now. Moments come in order.
  void note(const Moment& now) {
    if (now.iteration != iteration_) {
      before_.swap(present_);
      present_.clear();
      iteration_ = now.iteration;
    }
    if (present_.size() < kMost && (present_.empty() || present_.back() != now.op))
      present_.push_back(now.op);
  }

  /// Ops until the next use, if it is used as in the iteration before; nullopt: nothing is known of that.
  [[nodiscard]] std::optional<std::uint64_t> until_next(const Moment& now) const {
    const std::vector<std::uint64_t>& known = now.iteration == iteration_ ? before_ : present_;
    if (known.empty()) return std::nullopt;
    const auto next = std::upper_bound(known.begin(), known.end(), now.op);
    if (next != known.end()) return *next - now.op;
    return std::max(now.ops, now.op) - now.op + known.front();
  }

 private:
  static constexpr std::size_t kMost =
      256;  // of an iteration: what is used more often is never idle for long

  std::uint64_t iteration_ = 0;
  std::vector<std::uint64_t> before_, present_;  // ops, ascending
};

}  // namespace stowage::recompute
