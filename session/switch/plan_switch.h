// Switches to a plan: checks all that may rule it out, then maps its arena.
//
// Thread safety: the conductor's.
#pragma once

#include "core/plan.h"
#include "session/arena/served_arena.h"
#include "session/rescue/plan_under_budget.h"
#include "session/reserved/device_room.h"
#include "session/reserved/plan_worth.h"
#include "session/states/session_verdict.h"

namespace stowage::session {

class PlanSwitch {
 public:
  /// All must outlive it.
  PlanSwitch(PlanUnderBudget& under_budget, const PlanWorth& worth, DeviceRoom& room, ServedArena& arena)
      : under_budget_(under_budget), worth_(worth), room_(room), arena_(arena) {}

  /// kPlanned: the arena is ready for `plans`, and hands nothing out yet. kRescuing, kOff: the plan does not
  /// suit this job. No change: not now, since the device must not be waited for. Error: the plan is invalid,
  /// or there is no memory for the arena.
  Result<SessionVerdict> try_plans(const JointPlan& plans);

 private:
  PlanUnderBudget& under_budget_;
  const PlanWorth& worth_;
  DeviceRoom& room_;
  ServedArena& arena_;
};

}  // namespace stowage::session
