// Follows a schedule: does what a Schedule says before each op of an iteration, as long as the iteration is
// the one that the schedule is for.
//
// Ops and the buffers that they make are counted from the iteration's beginning. An op of another shape
// than the schedule's (recipe/call_hash.h) ends the following until the next iteration; what is away then
// comes back on demand.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/runtime_counters.h"
#include "core/step_log.h"
#include "recompute/residency/residency.h"

namespace stowage::recompute {

class Follower {
 public:
  Follower(StorageBook& book, Residency& residency) : book_(book), residency_(residency) {}

  /// From the next iteration on. Requires: the schedule's actions are in order of op.
  void follow(Schedule schedule);
  /// No longer.
  void leave();
  [[nodiscard]] bool follows() const { return schedule_.has_value(); }

  /// Does what the schedule says. Throws what recomputation throws.
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
