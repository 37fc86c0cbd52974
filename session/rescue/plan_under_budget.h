// A plan under a budget: whether its arena fits, what becomes of it where it does not any more, and when the
// runtime may rest.
//
// What is allocated under a schedule (budget/schedule_controller.h) is the same in each iteration, with what
// is made again: a plan is for iterations under it, and goes with it. Without a schedule a plan that fits
// needs no runtime.
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
#include "session/states/session_verdict.h"

namespace stowage::session {

class PlanUnderBudget {
 public:
  /// All must outlive it.
  PlanUnderBudget(BudgetController& budget, DevicePort& port, ServedArena& arena, SessionFacts& facts)
      : budget_(budget), port_(port), arena_(arena), facts_(facts) {}

  /// A first plan is asked for: it is for iterations under the schedule that is followed now, if one is.
  void prepare();
  /// It does not fit: kRescuing.
  SessionVerdict refuse(const Plan& plan);
  /// It is used from now on, all of its arena.
  void begin() { lost_ = false; }
  /// No plan is used any more, and room is made by evicting on demand.
  void rescue();
  /// No plan is used any more, and the job is recorded again.
  void leave();

  /// The plan, or the one being made, is for iterations under a schedule.
  [[nodiscard]] bool is_scheduled() const { return scheduled_.load(std::memory_order_acquire); }
  /// Tensors may be evicted though a plan is followed.
  [[nodiscard]] bool evicts() const { return is_scheduled() || arena_.settling() != nullptr; }
  /// Part of the arena was given up for a request that did not fit.
  [[nodiscard]] bool gave_up_arena() const { return lost_; }
  /// The plan cannot be followed any more.
  [[nodiscard]] bool is_lost() const { return lost_ || (is_scheduled() && !budget_.schedule().follows()); }

  /// An iteration ended; the planned window has `window_marks` marks. Counts the arena as a whole as soon as
  /// there is room for that. kRescuing: there was none for long.
  SessionVerdict settle(std::uint32_t window_marks);
  /// The runtime is taken out, where it is not needed and may be.
  void rest();
  /// A request that the plan does not know needs room. While the runtime is there the plan continues with
  /// what is left, and the arena is counted as a whole again when there is room; without it, nobody evicts:
  /// the plan is lost. True if anything went. Requires: there is an arena.
  bool give_up_free_parts();

 private:
  SessionVerdict refuse_arena(Bytes arena_bytes, Bytes excess);
  SessionVerdict leave_unsettled();
  bool grow_budget();

  BudgetController& budget_;
  DevicePort& port_;
  ServedArena& arena_;
  SessionFacts& facts_;
  std::atomic<bool> scheduled_{false};
  bool lost_ = false;  ///< see gave_up_arena()
};

}  // namespace stowage::session
