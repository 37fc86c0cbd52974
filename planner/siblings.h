// Plans of one job side by side: what lives across the iteration boundary should lie at the same place in all
// of them.
//
// A gradient that the first micro-step's plan put at some offset is still there while the next micro-step's
// plan runs. Plans that agree about such buffers do not stand in each other's way. Correctness never depends
// on it: the allocator checks every slot at run time, and a slot in use is a miss.
//
// Thread safety: pure.
#pragma once

#include <vector>

#include "core/plan.h"
#include "planner/lifetimes.h"

namespace stowage::planner {

/// Which crossing buffers keep their offsets: all, or only those whose slots are held for the whole period.
enum class Keep { kAllCrossing, kWholePeriod };

/// The problem with fixed offsets for the crossing buffers (LifeClass::kCyclic, kTwoSlots) that have a
/// counterpart in a sibling: the i-th crossing entry of a (rounded, stream) takes the slots of the sibling's
/// i-th arena entry of that kind, from the first sibling that has one. For kTwoSlots the counterpart must
/// have a spare. Requires: no null pointers.
placement::Problem fix_by_siblings(const Lifetimes& lifetimes, const std::vector<const Plan*>& siblings,
                                   Keep keep);

/// True if fix_by_siblings would fix anything.
bool has_fixed(const placement::Problem& problem);

}  // namespace stowage::planner
