// Places kinds of iterations together: one problem (planner/kinds/joint_problem.h), solved in steps.
//
// Three ways, until one is good enough: what is in use stays and only new kinds are placed around it; one
// kind after the other, the largest first; all at once. Kinds that begin or end alike have these addresses in
// common where that costs no height.
//
// Thread safety: reentrant. Deterministic as make_plan() is.
#pragma once

#include <stop_token>

#include "core/plan.h"
#include "core/result.h"
#include "planner/joint_options.h"
#include "planner/kinds/kinds.h"

namespace stowage::planner {

/// A plan for each of the kinds, not validated yet. Of two kinds in a row with one fingerprint the second is
/// the first one's twin (planner/kinds/twins.h). Requires: check_options(), at least one kind.
Result<JointPlan> place_jointly(const Kinds& kinds, const JointOptions& options, const std::stop_token& stop);

}  // namespace stowage::planner
