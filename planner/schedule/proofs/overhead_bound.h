// How little any schedule for an iteration can recompute, and how little it can hold: lower bounds, so that a
// schedule carries a gap.
//
// While an op runs, what the job holds beyond the budget has to be out of memory. With the gaps of all
// buffers (gaps.h) that is a covering problem: least sum of cost_g * x_g, so that for each op the gaps around
// it have bytes_g * x_g of at least its excess, 0 <= x <= 1. Any value of its Lagrangian dual is a bound,
// also where the steps of the subgradient have not found the best one. A gap costs the lesser of what is run
// again and what is copied for it. Where copies run beside ops, they still need a time of their own, one
// after the other: for sums R of what runs again and C of copies, an iteration of ops that take T is longer
// by max(R, C - T) at least, which is no less than w R + (1 - w) (C - T) for any w from 0 to 1. Where those
// there run beside those back, C is the longer one of both sums, or no less than any mean of them. It is the
// memory rows of Checkmate's program (Jain et al., MLSys 2020) with each recomputation counted for one gap
// alone.
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/proofs/gaps.h"

namespace stowage::planner::schedule {

/// No schedule holds less than this at its peak.
[[nodiscard]] std::uint64_t least_peak(const GapTable& table);

struct OverheadBound {
  std::uint64_t added_ns = 0;
  /// By op, in ns per byte: by how much it would be less if one byte more could be held while the op runs.
  /// Empty where it is 0.
  std::vector<double> prices;
};

/// Nor does any that holds at most `budget` bytes take less time for what it recomputes and the copies that
/// it waits for. `reached`: what one of them takes. Requires: least_peak() <= budget.
[[nodiscard]] OverheadBound overhead_bound(const GapTable& table, std::uint64_t budget,
                                           std::uint64_t reached);
/// Its time alone.
[[nodiscard]] inline std::uint64_t least_added_ns(const GapTable& table, std::uint64_t budget,
                                                  std::uint64_t reached) {
  return overhead_bound(table, budget, reached).added_ns;
}

}  // namespace stowage::planner::schedule
