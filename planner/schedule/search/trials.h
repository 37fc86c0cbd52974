// Single attempts at a schedule: a sweep, or a family of them that starts with the same idea, played and
// checked against the budget, with copies moved beside ops where they may be.
//
// Thread safety: none. Deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "planner/schedule/search/search.h"
#include "planner/schedule/sweeps/sweep.h"

namespace stowage::planner::schedule {

/// What a schedule is compared by: time, and then how few steps it has.
[[nodiscard]] std::pair<std::uint64_t, std::size_t> cost_of(const Found& found);

/// `found`, if that costs less than the best so far.
void take_cheaper(std::optional<Found>& best, std::optional<Found> found);

/// Each attempt is empty if nothing was found, and adds to the work.
class Trials {
 public:
  /// All arguments outlive it.
  Trials(const OpGraph& graph, std::uint64_t budget, const SearchLimits& limits, std::uint64_t& work)
      : graph_(graph), budget_(budget), limits_(limits), work_(work) {}

  /// A sweep that begins with the actions `first`.
  std::optional<Found> with_weights(const Weights& weights, const std::vector<Step>& first = {});
  /// Whatever copies cost: what is copied comes back without any other buffer.
  std::optional<Found> with_copies();
  /// Evictions of segments of the forward pass (search/segments.h).
  std::optional<Found> with_segments();
  /// What a programme over blocks of layers does not keep (blocks/block_plan.h). Requires:
  /// SearchLimits::gaps.
  std::optional<Found> with_blocks();
  /// Restores that do not fit are done earlier (sweeps/repair.h).
  std::optional<Found> with_repairs();

  /// No more than `part` of the work may be done by now.
  [[nodiscard]] bool is_over(double part) const;

 private:
  std::optional<Found> played(Sweep swept);

  const OpGraph& graph_;
  const std::uint64_t budget_;
  const SearchLimits& limits_;
  std::uint64_t& work_;
};

/// Steps that playing all events of the graph costs.
[[nodiscard]] std::uint64_t size_of(const OpGraph& graph);

/// And looking at one value.
inline constexpr std::uint64_t kPlayedLookWork = 10;

}  // namespace stowage::planner::schedule
