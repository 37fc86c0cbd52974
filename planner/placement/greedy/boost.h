// Priority boosting: place by an order; what lies above the bound moves forward in the order; again.
//
// Why: greedy orders miss the bound by the few pieces that were placed too late. The walk keeps the best
// draft and continues from the last one, not from the best, so that it does not stick. It gives up when many
// rounds in a row brought nothing. The placer is first fit, or lowest-first, which is the faster by far where
// the instance is flat and finds other placements.
//
// Thread safety: pure. Deterministic for a given seed and work share.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/placement/greedy/decode.h"

namespace stowage::planner::placement {

/// Which placer makes the drafts.
enum class BoostBy { kFirstFit, kLowestFirst };

/// Which pieces move, and how far. Both draw lots.
enum class Raise {
  kAnywhere,  ///< all that end above the bound, to any earlier place
  kFar,  ///< all that end above some height between bound and draft, past at least three quarters of those
         ///< before
};

/// Improves on `draft` (of this instance, complete) until it is low enough, `patience` rounds in a row did
/// not improve it or the meter stops it. Returns true if it is low enough. `draft` is always complete and
/// never higher than it came.
bool boost(const Instance& instance, std::vector<std::uint32_t> order, std::uint64_t seed, WorkMeter& meter,
           Draft& draft, BoostBy by = BoostBy::kFirstFit, int patience = 250, Raise raise = Raise::kAnywhere);

}  // namespace stowage::planner::placement
