// What plans of several kinds of iterations are asked for: around what, in place of what, and what is good
// enough.
#pragma once

#include <optional>
#include <vector>

#include "core/plan.h"
#include "planner/kinds/joint_problem.h"
#include "planner/plan_options.h"

namespace stowage::planner {

struct JointOptions : PlanOptions {
  DeviceKind device = DeviceKind::kCpu;
  /// Plans that the result replaces in their arena: each address stays its stream's, and offsets are kept
  /// where that is good enough. A plan is that of the kind with its fingerprint; the second one, of its twin.
  std::vector<Plan> in_use;
  std::vector<Tenant> tenants;  ///< what the plans leave free all the time. Disjoint
  Bytes tolerable{0};           ///< a placement that is no higher will do, as one that is good enough
  /// A higher one is of no use: once a bound shows that all are higher, no more work is done on any.
  std::optional<Bytes> most;
  std::vector<StreamRange> claimed;  ///< what streams have in the arena besides what `in_use` says
};

}  // namespace stowage::planner
