// Places kinds of iterations together: one problem (planner/kinds/joint_problem.h), solved in steps.
//
// Three ways, until one is good enough: what is in use stays and only new kinds are placed around it; one
// kind after the other, the largest first; all at once. Kinds that begin or end alike have these addresses in
// common where that costs no height.
//
// Thread safety: reentrant. Deterministic as make_plan() is.
#pragma once

#include <stop_token>
#include <vector>

#include "core/plan.h"
#include "core/result.h"
#include "planner/kinds/joint_problem.h"
#include "planner/kinds/kinds.h"
#include "planner/planner.h"

namespace stowage::planner {

struct JointOptions : PlanOptions {
  DeviceKind device = DeviceKind::kCpu;
  /// Plans that the result replaces in their arena: each address stays its stream's, and offsets are kept
  /// where that is good enough. A plan is that of the kind with its fingerprint; the second one, of its twin.
  std::vector<Plan> in_use;
  std::vector<Tenant> tenants;       ///< what the plans leave free all the time. Disjoint
  Bytes tolerable{0};                ///< a placement that is no higher will do, as one that is good enough
  std::vector<StreamRange> claimed;  ///< what streams have in the arena besides what `in_use` says
};

/// A plan for each of the kinds, not validated yet. Of two kinds in a row with one fingerprint the second is
/// the first one's twin (planner/kinds/twins.h). Requires: check_options(), at least one kind.
Result<JointPlan> place_jointly(const Kinds& kinds, const JointOptions& options, const std::stop_token& stop);

}  // namespace stowage::planner
