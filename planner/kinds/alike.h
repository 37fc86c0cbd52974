// Addresses that two kinds of iterations have in common: where they begin alike, a job that turns out to run
// the other one has lost nothing.
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/kinds/arrangement.h"
#include "planner/kinds/joint_problem.h"
#include "planner/kinds/kinds.h"

namespace stowage::planner {

/// Same size and stream.
[[nodiscard]] bool same_request(const Allocation& a, const Allocation& b);

/// By allocation of `kind`: the one of `other` that it stands for, in the longest common beginning, then the
/// longest common end of what is left; nothing elsewhere. Alike: same size, stream and class.
[[nodiscard]] std::vector<std::optional<std::uint32_t>> match_alike(const Kind& kind, const Kind& other);

/// The same for allocations of the same size and stream, whatever their class.
[[nodiscard]] std::vector<std::optional<std::uint32_t>> match_requests(const Kind& kind, const Kind& other);

/// Fixes the items of `problem` that are still free to their `wishes` (by item), unless one of them would
/// overlap what is fixed or another wish. Requires: fixed items are disjoint. O(n log n).
void fix_wishes(const std::vector<std::optional<Offset>>& wishes, placement::Problem& problem);

/// Of the items of `part`: where those of `kind` would lie if they lay as in the member that has most in
/// common with it and is not its twin.
[[nodiscard]] std::vector<std::optional<Offset>> wishes_of(const Kinds& kinds, const JointProblem& part,
                                                           Places& places, const std::vector<bool>& members,
                                                           std::uint32_t kind);

}  // namespace stowage::planner
