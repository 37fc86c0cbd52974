// Sweeps for budgets so tight that a restore does not fit where it is needed: it is done earlier, where less
// is held, and the sweep is tried again.
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>

#include "planner/schedule/sweeps/sweep.h"

namespace stowage::planner::schedule {

/// As sweep(), with restores before their time; `missing` if that does not do, either, or if `most_work` was
/// used up. Its `work` is that of all sweeps.
[[nodiscard]] Sweep sweep_with_repairs(const OpGraph& graph, std::uint64_t budget, std::uint64_t smallest,
                                       const Weights& weights, std::uint64_t most_work);

}  // namespace stowage::planner::schedule
