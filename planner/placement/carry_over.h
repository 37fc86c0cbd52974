// Maps the placement of an older problem to a similar new one: which item was where.
//
// Thread safety: a pure function.
#pragma once

#include <optional>
#include <vector>

#include "planner/placement/problem/problem.h"

namespace stowage::planner::placement {

/// What an older placement says of a new problem, by item of the new one.
struct Carried {
  /// The old offset of the item it corresponds to, if it has not grown.
  std::vector<std::optional<Offset>> offsets;
  /// The old offset of one that has; no more than a place in the order from the bottom up.
  std::vector<std::optional<Offset>> grown;
};

/// Both sequences are walked in order of birth; items of one size, alignment and stream class correspond.
/// Where they differ, as few as possible are passed over, old and new together, up to where eight in a row
/// are alike; as many for as many correspond too. Near O(n).
Carried carry_over(const Problem& old_problem, const Solution& old_solution, const Problem& problem);

}  // namespace stowage::planner::placement
