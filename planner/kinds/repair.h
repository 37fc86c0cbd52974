// Mends a placement that is in use: what still holds stays, and the rest finds room among it.
//
// Why: a tensor that stays, or a lifetime that is longer than was known, stands in the way of a few slots.
// Each iteration that the job waits for other plans takes memory beside the arena, so the first answer must
// come within milliseconds. A lower placement can be sought while it serves.
//
// Thread safety: reentrant. Deterministic for a given work limit.
#pragma once

#include <optional>
#include <vector>

#include "planner/placement/problem/problem.h"
#include "planner/placement/problem/work.h"

namespace stowage::planner {

/// By item of a problem: where it was, if anywhere.
using Former = std::vector<std::optional<Offset>>;

/// Places all items, and validates that. Those that were somewhere stay there, but for what collides with a
/// fixed item, with another one, or with what is another stream's. If the result is higher than `enough`, few
/// that live at the same time as what is too high may move too. Errors as of placement::replan().
[[nodiscard]] Result<placement::Solution> repair(const placement::Problem& problem, Former were, Bytes enough,
                                                 const placement::Limits& limits);

}  // namespace stowage::planner
