// Follows schedules, one for each kind of iteration: carries out a Schedule's actions before each op of an
// iteration, as long as the ops are those that it was made for.
//
// Ops and the buffers that they make are counted from the iteration's beginning. What lasts is known by its
// first use in the iteration before: in the first one that follows a schedule nothing that lasts is offloaded
// before that. An iteration begins with the
// schedule of the kind that most likely comes. At an op of another shape than the
// schedule's (recipe/call_hash.h) it goes on with one that has the same ops so far, and evicts what is
// evicted there by then. Where there is none it waits for ops that the schedule has a little later, and goes
// on there (detour.h). If none come, the kind is left; what is evicted then comes back on demand. It is taken
// up again where it was left, or at its beginning, once the ops from there on come: behind an evaluation,
// say.
//
// Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/runtime/runtime_counters.h"
#include "core/step_log.h"
#include "core/support/kind_history.h"
#include "recompute/residency/residency.h"
#include "recompute/schedule/detour.h"
#include "recompute/schedule/recent_ops.h"

namespace stowage::recompute {

class Follower {
 public:
  Follower(StorageBook& book, Residency& residency) : book_(book), residency_(residency) {}

  /// Begins with the next iteration, beside the others; replaces one for the same ops. Requires: the
  /// schedule's actions are in order of op.
  void follow(Schedule schedule);
  /// Stops following.
  void leave();
  [[nodiscard]] bool follows() const { return !kinds_.empty(); }

  /// Carries out the op's actions. Throws what recomputation throws.
  void before_op(std::uint64_t shape);
  /// note_inputs() is to be called for the present op: it uses something that lasts for the first time.
  [[nodiscard]] bool asks_for_inputs() const;
  /// As in the log that the schedule was made of.
  void note_inputs(std::span<StorageRecord* const> inputs);
  /// The present op made this buffer.
  void made(const StorageRecord& record);
  /// An iteration ended and the next begins.
  void next_iteration();
  /// Serial numbers of what lasts and is offloaded by one of the schedules: known once that was followed.
  [[nodiscard]] std::unordered_set<std::uint64_t> sent_away() const;
  [[nodiscard]] const FollowCounters& counts() const { return counts_; }

 private:
  struct Made {
    const c10::StorageImpl* storage;
    std::uint64_t serial;
  };
  /// What the present iteration's op made as number `entry`; null: not yet, or it is gone.
  [[nodiscard]] StorageRecord* find(std::uint32_t entry) const;
  [[nodiscard]] StorageRecord* find(const std::vector<Made>& buffers, std::size_t at) const;
  /// Those of the followed kind that the present op uses first, from the first on.
  [[nodiscard]] std::size_t first_lasting() const;
  void act(const Action& action);
  /// False: it is not possible.
  bool send_away(StorageRecord& record, ActionKind way);
  void prefetch(StorageRecord& record);
  void act_before_next_op();
  [[nodiscard]] bool continues(const Schedule& schedule, std::uint64_t shape) const;
  /// Goes on with another kind whose op this is. False: there is none.
  bool turn(std::uint64_t shape);
  /// Goes on behind a few ops that differ. False: not yet, or never.
  bool come_back(std::uint64_t shape);
  /// The latest ops, this one included, are those that were next when the kind was left, or the first ones
  /// of a kind: goes on there. False: neither.
  bool find_again();
  /// The ops that made all but the first `made` buffers are the followed kind's from `op` on.
  void go_on_at(std::size_t op, std::size_t made);
  [[nodiscard]] bool may_be_on_the_way() const;
  void catch_up();
  void note_resync();
  void lose();
  /// The kind whose ops are all that came, but for what was passed over.
  [[nodiscard]] std::optional<std::size_t> has_all_ops() const;
  /// A few of the followed kind are missing at the end, or others came there.
  [[nodiscard]] bool lacks_few_ops() const;

  StorageBook& book_;
  Residency& residency_;
  std::vector<Schedule> kinds_;
  std::size_t now_ = 0;   ///< the followed kind
  std::size_t next_ = 0;  ///< the kind that most likely comes next
  KindHistory history_;
  std::vector<Made> made_;
  std::vector<std::vector<Made>> lasting_;  ///< by kind, as Schedule::lasting
  bool acted_ = false;                      ///< before the present op, which is next_op_ - 1
  std::size_t next_op_ = 0;
  std::size_t next_action_ = 0;
  enum class Course : std::uint8_t { kWaiting, kOn, kLost };
  [[nodiscard]] bool is_on_course() const { return course_ == Course::kOn; }
  Course course_ = Course::kWaiting;  ///< kWaiting: for the next iteration
  RecentOps recent_;
  Detour detour_;
  bool resynced_ = false;  ///< in this iteration
  FollowCounters counts_;
};

}  // namespace stowage::recompute
