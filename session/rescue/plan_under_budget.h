// A plan under a budget: whether its arena fits, what happens when it no longer fits, and when the runtime
// may rest.
//
// Under a schedule (budget/schedule_controller.h) each iteration makes the same allocations, recomputation
// included: a plan for such iterations is valid only while the schedule is followed. Without a schedule a
// plan that fits needs no runtime.
//
// Thread safety: is_scheduled() and evicts() from any thread; the rest is the conductor's.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/plan.h"
#include "session/arena/served_arena.h"
#include "session/budget/budget_controller.h"
#include "session/facts/session_facts.h"
#include "session/ports/device_port.h"
#include "session/rescue/lasting_memory.h"
#include "session/states/session_verdict.h"

namespace stowage::session {

class PlanUnderBudget {
 public:
  /// All must outlive it.
  PlanUnderBudget(BudgetController& budget, DevicePort& port, ServedArena& arena, LastingMemory& lasting,
                  SessionFacts& facts)
      : budget_(budget), port_(port), arena_(arena), lasting_(lasting), facts_(facts) {}

  /// A first plan is requested: for iterations under the schedule that is followed now, if there is one.
  void prepare();
  /// kRescuing if the arena of `plans` does not fit.
  SessionVerdict refuse(const JointPlan& plans);
  /// The plan is used from now on, with all of its arena.
  void begin() { lost_ = false, uncounted_ = 0; }
  /// No plan is used any more; rescue evicts on demand.
  void rescue();
  /// No plan is used any more, and the job is recorded again.
  void leave();

  /// The plan, or the one being made, is for iterations under a schedule.
  [[nodiscard]] bool is_scheduled() const { return scheduled_.load(std::memory_order_acquire); }
  /// Kinds of iterations that have a schedule; 0: none needs one.
  [[nodiscard]] std::uint64_t scheduled_kinds() const {
    return is_scheduled() ? budget_.schedule().kinds() : 0;
  }
  /// Tensors may be evicted while a plan is followed.
  [[nodiscard]] bool evicts() const { return is_scheduled() || arena_.settles(); }
  /// Plan and arena take `excess` bytes too many: asks for a schedule for so much less. Once it is followed,
  /// settle() drops the plan. False: there will be none.
  bool ask_for_less(Bytes excess);
  /// Rescue evicted in what the last mark ended, beyond a schedule.
  [[nodiscard]] bool evicted_on_demand() const { return budget_.evicted_on_demand(); }
  /// Part of the arena was given up for a request that did not fit.
  [[nodiscard]] bool gave_up_arena() const { return lost_; }
  /// The plan cannot be followed any more.
  [[nodiscard]] bool is_lost() const { return lost_ || (is_scheduled() && !budget_.schedule().follows()); }

  /// An iteration ended; the planned window has `window_marks` marks. Counts the arena as a whole as soon as
  /// there is room. kRescuing: there was none for several iterations; or another schedule is followed.
  SessionVerdict settle(std::uint32_t window_marks);
  /// Uninstalls the runtime, if it is not needed and may be uninstalled.
  void rest();
  /// An unplanned request needs `bytes`: gives up free parts of the arena. With the runtime installed the
  /// rest serves on, and the arena is counted whole again once there is room; without it nothing can evict:
  /// the plan is lost. True if anything was given up. Requires: there is an arena.
  bool give_up_free_parts(Bytes bytes);

 private:
  [[nodiscard]] Bytes lost_upstream() const;
  /// Bytes that the budget lacks for the arena, beside what stays outside it and `lost` bytes between that.
  [[nodiscard]] Bytes excess_of(const JointPlan& plans, Bytes lost = Bytes(0)) const;
  SessionVerdict refuse_arena(Bytes arena_bytes, Bytes excess);
  SessionVerdict leave_unsettled();
  void drop_plans();
  bool grow_budget();
  [[nodiscard]] bool is_of_no_kind();
  void clear_arena();

  BudgetController& budget_;
  DevicePort& port_;
  ServedArena& arena_;
  LastingMemory& lasting_;
  SessionFacts& facts_;
  std::atomic<bool> scheduled_{false};
  bool lost_ = false;            ///< see gave_up_arena()
  std::uint64_t schedule_ = 0;   ///< ScheduleController::number(), of the one that the plan is for
  std::uint64_t disturbed_ = 0;  ///< iterations in a row in which rescue evicted, under a schedule
  std::uint64_t uncounted_ = 0;  ///< iterations of no kind, since the arena was last whole
};

}  // namespace stowage::session
