// When copies to stores and back run: one after the other in a lane and, where the log says so, beside ops.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/runtime/copy_lanes.h"

namespace stowage::planner::schedule {

class CopyQueue {
 public:
  explicit CopyQueue(CopyLanes lanes) : lanes_(lanes) {}

  /// An op runs that takes so long.
  void run(std::uint64_t ns) { now_ += ns; }
  /// A copy is queued that takes `ns`, to the store or back. When it is done.
  std::uint64_t begin(std::uint64_t ns, bool back) {
    std::uint64_t& free = free_[lanes_ == CopyLanes::kEachWay && back ? 1 : 0];
    free = std::max(free, now_) + ns;
    if (!run_beside_ops(lanes_)) wait_for(free);
    return free;
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
  CopyLanes lanes_;
  std::uint64_t now_ = 0;
  std::array<std::uint64_t, 2> free_{};  ///< by lane: when its last copy is done
  std::uint64_t waited_ = 0;
};

}  // namespace stowage::planner::schedule
