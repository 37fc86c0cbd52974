// When copies to stores and back run: one after the other and, where the log says so, beside ops.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stowage::planner::schedule {

class CopyQueue {
 public:
  explicit CopyQueue(bool overlaps) : overlaps_(overlaps) {}

  /// An op runs that takes so long.
  void run(std::uint64_t ns) { now_ += ns; }
  /// A copy is queued that takes `ns`. When it is done.
  std::uint64_t begin(std::uint64_t ns) {
    free_ = std::max(free_, now_) + ns;
    if (!overlaps_) wait_for(free_);
    return free_;
  }
  /// What comes next begins at `time` at the earliest.
  void wait_for(std::uint64_t time) {
    if (time <= now_) return;
    waited_ += time - now_;
    now_ = time;
  }
  [[nodiscard]] std::uint64_t now() const { return now_; }
  /// Sum of all waiting.
  [[nodiscard]] std::uint64_t waited() const { return waited_; }

 private:
  bool overlaps_;
  std::uint64_t now_ = 0;
  std::uint64_t free_ = 0;
  std::uint64_t waited_ = 0;
};

}  // namespace stowage::planner::schedule
