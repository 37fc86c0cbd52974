// Follows a schedule: carries out a Schedule's actions before each op of an iteration, as long as the ops
// are those that the schedule was made for.
//
// Ops and the buffers that they make are counted from the iteration's beginning. An op of another shape
// than the schedule's (recipe/call_hash.h) ends the following until the next iteration; what is evicted then
// comes back on demand.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/runtime/runtime_counters.h"
#include "core/step_log.h"
#include "recompute/residency/residency.h"

namespace stowage::recompute {

class Follower {
 public:
  Follower(StorageBook& book, Residency& residency) : book_(book), residency_(residency) {}

  /// Begins with the next iteration. Requires: the schedule's actions are in order of op.
  void follow(Schedule schedule);
  /// Stops following.
  void leave();
  [[nodiscard]] bool follows() const { return schedule_.has_value(); }

  /// Carries out the op's actions. Throws what recomputation throws.
  void before_op(std::uint64_t shape);
  /// The present op made this buffer.
  void made(const StorageRecord& record);
  /// An iteration ended and the next begins.
  void next_iteration();
  [[nodiscard]] const FollowCounters& counts() const { return counts_; }

 private:
  struct Made {
    const c10::StorageImpl* storage;
    std::uint64_t serial;
  };
  void act(const Action& action);

  StorageBook& book_;
  Residency& residency_;
  std::optional<Schedule> schedule_;
  std::vector<Made> made_;
  std::size_t next_op_ = 0;
  std::size_t next_action_ = 0;
  bool on_course_ = false;
  FollowCounters counts_;
};

}  // namespace stowage::recompute
