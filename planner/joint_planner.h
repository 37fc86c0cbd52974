// All kinds of iterations of a job in one arena: one placement problem (planner/kinds/joint_problem.h), one
// height against one lower bound.
//
// A kind that would hold buffers twice gets two plans that take turns, one behind the other and with the same
// fingerprint, where that saves memory (planner/kinds/twins.h).
//
// Thread safety: reentrant. Deterministic as make_plan() is.
#pragma once

#include <stop_token>

#include "core/plan.h"
#include "core/result.h"
#include "planner/joint_placement.h"
#include "planner/kinds/kinds.h"

namespace stowage::planner {

/// A plan for each of the kinds, two for one with a twin. Errors as of make_plan(); kUnplannable if there is
/// no kind.
Result<JointPlan> make_plans(const Kinds& kinds, const JointOptions& options,
                             const std::stop_token& stop = {});

}  // namespace stowage::planner
