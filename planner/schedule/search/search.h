// The best list of actions that a limited number of sweeps finds.
//
// Thread safety: pure. Deterministic for a given work limit, unless `stop` fires.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "planner/schedule/model/play.h"
#include "planner/schedule/proofs/gaps.h"

namespace stowage::planner::schedule {

struct SearchLimits {
  std::uint64_t smallest = 0;    ///< bytes; smaller buffers stay
  std::uint64_t work_limit = 0;  ///< steps, about 1 ns each
  std::uint64_t seed = 1;
  std::stop_token stop;
  const GapTable* gaps = nullptr;  ///< where given, no more is sought once a bound is nearly reached
  const Found* nearby = nullptr;   ///< where given, what was found for a little more bytes: begun with
};

/// The cheapest in recomputation and copies that stays within `budget` bytes; empty if no sweep fits. Adds to
/// `work`.
[[nodiscard]] std::optional<Found> search(const OpGraph& graph, std::uint64_t budget,
                                          const SearchLimits& limits, std::uint64_t& work);

/// The least budget at which one of a few sweeps fits, to about one part in 256 of what lies between `low`
/// and `high`. Requires: nothing is found at `low`.
[[nodiscard]] std::uint64_t least_budget(const OpGraph& graph, std::uint64_t low, std::uint64_t high,
                                         const SearchLimits& limits);

}  // namespace stowage::planner::schedule
