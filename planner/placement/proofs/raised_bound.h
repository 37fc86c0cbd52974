// How low a placement of a whole problem can be, beyond its live bytes: the cheap certificates, without
// search.
//
// Thread safety: pure. Deterministic.
#pragma once

#include "planner/placement/problem/problem.h"

namespace stowage::planner::placement {

/// lower_bound() of the problem, raised by fragment_bound() and crowd_bound() of each stream class among what
/// the others hold at all times.
[[nodiscard]] Bytes raised_bound(const Problem& problem);

}  // namespace stowage::planner::placement
