// A lower placement of the plan in use: the first placement is only good enough, so the planner keeps
// searching for a lower one that may save memory.
//
// Thread safety: the conductor's.
#pragma once

#include "core/plan.h"
#include "session/arena/served_arena.h"
#include "session/budget/budget_controller.h"
#include "session/facts/session_facts.h"
#include "session/plans/plan_book.h"
#include "session/ports/device_port.h"
#include "session/reserved/reserved_guard.h"

namespace stowage::session {

class LowerPlan {
 public:
  /// All must outlive it.
  LowerPlan(DevicePort& port, const BudgetController& budget, ServedArena& arena, PlanBook& plans,
            ReservedGuard& guard, SessionFacts& facts)
      : port_(port), budget_(budget), arena_(arena), plans_(plans), guard_(guard), facts_(facts) {}

  /// Asks for a lower placement of `plan`, if it could save a page. Not under a budget, nor for an earlier
  /// run's plan.
  void ask(const Plan& plan);
  /// Uses it if it is ready, in the same arena: live blocks stay, and slots that they overlap miss once.
  /// True: it is in use from now on.
  bool take();

 private:
  [[nodiscard]] Bytes in_pages(Bytes height) const;

  DevicePort& port_;
  const BudgetController& budget_;
  ServedArena& arena_;
  PlanBook& plans_;
  ReservedGuard& guard_;
  SessionFacts& facts_;
};

}  // namespace stowage::session
