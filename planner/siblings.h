// Plans of one job side by side: what lives across the iteration boundary should lie at the same place in all
// of them.
//
// A gradient that the training iteration's plan put at some offset is still there while the next one begins
// with an evaluation. Plans that agree about such buffers do not stand in each other's way. Correctness never
// depends on it: the allocator checks every slot at run time, and a slot in use is a miss. Addresses of
// different streams are kept apart across all plans, since nothing orders one stream's use after another's.
//
// Thread safety: pure.
#pragma once

#include <vector>

#include "core/plan.h"
#include "planner/lifetimes.h"

namespace stowage::planner {

/// Which buffers take a sibling's offsets: those that cross the boundary and all others that both iterations
/// have in common, those that cross, those whose slots are held for the whole period, none.
enum class Keep { kAlike, kAllCrossing, kWholePeriod, kNone };

/// The problem with fixed offsets from the siblings, and with the regions of their streams. The i-th crossing
/// entry (PlanEntry::crosses) of a (rounded, stream, one slot or two) takes the slots of the first sibling's
/// i-th that has so many. kAlike: so do the entries of the longest common end, then beginning, with any one
/// sibling, where that overlaps nothing that is fixed already. Requires: no null pointers. O(n log n).
placement::Problem fix_by_siblings(const Lifetimes& lifetimes, const std::vector<const Plan*>& siblings,
                                   Keep keep);

/// True if fix_by_siblings would fix anything.
bool has_fixed(const placement::Problem& problem);

}  // namespace stowage::planner
