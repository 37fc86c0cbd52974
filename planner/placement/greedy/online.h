// Best fit in order of birth, as a caching allocator would do it with nothing but splitting and coalescing.
//
// Why: O(n log n) with a small constant for any problem, so that there is always a first
// answer, for a million pieces in a fraction of a second. Source: best fit of general-purpose allocators;
// idealloc's and STAlloc's authors measure it as what planning must beat.
//
// Thread safety: pure. Deterministic.
#pragma once

#include "planner/placement/instance/draft.h"
#include "planner/placement/instance/instance.h"

namespace stowage::planner::placement {

/// Sweeps over time, giving each newborn the smallest hole among the living that it fits, of equals the
/// lowest. Wrapped pieces and pieces with gaps are taken for solid ones that are there all the time. False,
/// with empty offsets, when the meter stopped it. Requires: instance.flat().
bool place_online(const Instance& instance, WorkMeter& meter, Draft& draft);

}  // namespace stowage::planner::placement
