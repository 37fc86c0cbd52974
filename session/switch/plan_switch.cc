#include "session/switch/plan_switch.h"

namespace stowage::session {

Result<SessionVerdict> PlanSwitch::try_plans(const JointPlan& plans) {
  for (const Plan& plan : plans.plans) {
    if (Status valid = plan.validate(); !valid) return valid.error();
  }
  if (plans.height.value() == 0)
    return SessionVerdict{SessionState::kOff, "the job has no allocation to plan"};
  room_.release_upstream();
  if (SessionVerdict refused = under_budget_.refuse(plans); refused.changes()) return refused;
  if (SessionVerdict refused = worth_.refuse(plans); refused.changes()) return refused;
  const Result<bool> served = arena_.serve(plans.plans);
  if (!served.ok()) return served.error();
  return *served ? SessionVerdict{SessionState::kPlanned, "a plan is there"} : SessionVerdict{};
}

}  // namespace stowage::session
