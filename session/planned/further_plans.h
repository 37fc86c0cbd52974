// Plans for further kinds of iteration, beside the first one: passes what the learner found
// (recording/learner.h) to the planner, and adds the resulting plans to the arena.
//
// Thread safety: the conductor's.
#pragma once

#include <chrono>

#include "core/plan.h"
#include "session/arena/served_arena.h"
#include "session/facts/session_facts.h"
#include "session/plans/plan_book.h"
#include "session/recording/learner.h"
#include "session/reserved/reserved_guard.h"
#include "session/settings/settings.h"

namespace stowage::session {

class FurtherPlans {
 public:
  /// All must outlive it.
  FurtherPlans(const Settings& settings, ServedArena& arena, PlanBook& plans, Learner& learner,
               ReservedGuard& guard, SessionFacts& facts)
      : settings_(settings), arena_(arena), plans_(plans), learner_(learner), guard_(guard), facts_(facts) {}

  /// `first` is the only plan in use.
  void begin(const Plan& first);
  /// Starts learning again. Not if `others_evict`: iterations off the plan then depend on what rescue
  /// evicts.
  void restart(bool others_evict);
  /// A further plan is being made.
  [[nodiscard]] bool is_making() const { return plans_.makes_further(); }
  /// Uses the requested plan, if it is ready. True: it is in use from now on.
  bool take() { return take(std::chrono::milliseconds(0)); }
  /// An iteration ended; `missed`: it had requests off the plan. Requests a plan if there is a trace to make
  /// it from. Returns as take().
  bool learn(bool missed);

 private:
  bool take(std::chrono::milliseconds wait);
  bool ask(Trace trace);

  const Settings& settings_;
  ServedArena& arena_;
  PlanBook& plans_;
  Learner& learner_;
  ReservedGuard& guard_;
  SessionFacts& facts_;
};

}  // namespace stowage::session
