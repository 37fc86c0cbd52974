// Plans that another process made for the same kinds of iterations, before they are used here.
//
// Nothing of them is believed but the offsets, and those only after the checks that plans of our own pass:
// every entry is compared with its allocation, and the placement goes through the independent validator
// against the problem as this process sees it. Lifetimes are this process's own; they may differ somewhat
// where other threads free what they have sent, and the offsets hold for them or are refused.
//
// Thread safety: pure.
#pragma once

#include <vector>

#include "core/plan.h"
#include "core/result.h"
#include "planner/kinds/joint_problem.h"
#include "planner/kinds/kinds.h"

namespace stowage::planner {

/// What make_plans() might have returned for `of_job` on `device`, around `in_use`, `tenants` and what
/// streams have `claimed`, with the offsets of `plans`, which are by kind, twins behind theirs (twins.h); all
/// else is this process's own. Error: kInvalidPlan, saying what does not fit.
[[nodiscard]] Result<JointPlan> accept_plans(const Kinds& of_job, DeviceKind device,
                                             const std::vector<Plan>& in_use,
                                             const std::vector<Tenant>& tenants,
                                             const std::vector<StreamRange>& claimed,
                                             std::vector<Plan> plans);

}  // namespace stowage::planner
