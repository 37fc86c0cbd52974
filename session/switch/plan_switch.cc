#include "session/switch/plan_switch.h"

namespace stowage::session {

Result<SessionVerdict> PlanSwitch::try_plan(const Plan& plan) {
  if (Status valid = plan.validate(); !valid) return valid.error();
  if (plan.height.value() == 0)
    return SessionVerdict{SessionState::kOff, "the job has no allocation to plan"};
  room_.release_upstream();
  if (SessionVerdict refused = under_budget_.refuse(plan); refused.changes()) return refused;
  if (SessionVerdict refused = worth_.refuse(plan); refused.changes()) return refused;
  const Result<bool> served = arena_.serve(plan);
  if (!served.ok()) return served.error();
  return *served ? SessionVerdict{SessionState::kPlanned, "a plan is there"} : SessionVerdict{};
}

}  // namespace stowage::session
