// Where several streams share an arena: addresses of one of them in any plan stay that stream's.
//
// Thread safety: pure.
#pragma once

#include <vector>

#include "core/plan.h"
#include "planner/placement/problem/problem.h"

namespace stowage::planner {

/// Adds the addresses that each stream has in `plans` and `claimed` to the problem's regions, in as few as
/// that takes. Nothing where these and the problem have but one stream, since regions make a problem harder
/// to solve.
void keep_regions(const std::vector<Plan>& plans, const std::vector<StreamRange>& claimed,
                  placement::Problem& problem);

}  // namespace stowage::planner
