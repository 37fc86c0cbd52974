// What several kinds of iterations allocate for the same purpose, such as the batch: its *role*.
//
// Thread safety: pure.
#pragma once

#include <vector>

#include "planner/kinds/kinds.h"

namespace stowage::planner {

/// Where an allocation is upstream's because too many of its instances are alive at one time, so are those of
/// other kinds that have the same role: the instances of a role are one after the other, whatever the kinds
/// are in which they are born, and memory for some of them in the arena and for some outside would be held
/// twice. Same role: alike in size and stream in a common beginning or end, or before eight requests that are
/// alike, and alive at an iteration's end. The opening allocates its batch between the model and the
/// optimizer's state.
void share_roles(std::vector<Kind>& kinds);

}  // namespace stowage::planner
