// A lower placement of the plan in use: that plan was good enough to begin with, and the search for a lower
// one continues where it may save memory.
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
  /// Uses it in place if it is ready: live blocks of the arena stay, and slots that they occupy are misses
  /// once. True: it is in use from now on.
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
