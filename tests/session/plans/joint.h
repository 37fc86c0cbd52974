// Plans of several kinds of iterations, as a planner hands them out.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/plan.h"

namespace stowage::session {

/// `plans` side by side in one arena.
inline JointPlan joint_of(std::vector<Plan> plans) {
  JointPlan made{std::move(plans), {}, {}, {}};
  for (const Plan& plan : made.plans) {
    made.height = std::max(made.height, plan.height);
    made.lower_bound = std::max(made.lower_bound, plan.lower_bound);
  }
  return made;
}

}  // namespace stowage::session
