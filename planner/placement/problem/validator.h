// Checks a solution independently: a sweep over time that shares no code with the placers.
//
// Every solution is put through this before it is used, in production as in tests: a wrong offset would
// overwrite a user's tensor. O(n log n). Thread safety: pure.
#pragma once

#include "planner/placement/problem/problem.h"
#include "planner/placement/problem/work.h"

namespace stowage::planner::placement {

/// Checks that no two items share a byte at one time (wrapped lifetimes and gaps included), that stream
/// classes use no address in common at any time, regions, alignment, fixed offsets, the capacity, that
/// `height` is exactly the highest end, and that the bound is not above it and the proof claimed only where
/// they meet. Error: kInvalidPlan, naming the items. Needs no check_problem(): a problem that makes no sense
/// is rejected too.
[[nodiscard]] Status validate(const Problem& problem, const Solution& solution);

/// The same but for the capacity: for a placement that is known not to fit it. Error besides: kCancelled once
/// `limits` say stop; its other limits are not looked at.
[[nodiscard]] Status validate_placement(const Problem& problem, const Solution& solution,
                                        const Limits& limits = {});

}  // namespace stowage::planner::placement
