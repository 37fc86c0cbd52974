// Why a problem does not fit its capacity: a few items that do not fit it even alone.
//
// If some time has too many live bytes, the largest items of that time say it. Else branch and bound has
// proved it, and items are taken out, in ever smaller lots and those far from the fullest time first, as long
// as the rest is still proved not to fit (deletion filter; Chinneck and Dravnieks, 1991). What is left is
// small and, if the work sufficed, irreducible.
//
// Thread safety: pure functions. Deterministic for a given work limit.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/placement/problem/problem.h"
#include "planner/placement/problem/work.h"

namespace stowage::planner::placement {

/// Items of which no time has room for all within `capacity`, ascending: as few as there are at a fullest
/// time. Empty if the live bytes fit at all times.
[[nodiscard]] std::vector<std::uint32_t> crowd(const Problem& problem, Bytes capacity);

/// Items that have no placement within the capacity, ascending; empty if that was not proved within the work.
/// With `known` it is known that all of them have none, and the first proof is spared.
[[nodiscard]] std::vector<std::uint32_t> explain(const Problem& problem, Bytes capacity, bool known,
                                                 const Limits& limits, WorkMeter& meter);

}  // namespace stowage::planner::placement
