// Priority boosting: place first-fit by an order; what lies above the bound moves forward in the order;
// again.
//
// Why: greedy orders miss the bound by the few pieces that were placed too late. The walk keeps the best
// draft and goes on from the last one, not from the best, so that it does not stick.
//
// Thread safety: pure. Deterministic for a given seed and work share.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/placement/decode.h"

namespace stowage::planner::placement {

/// Improves on `draft` (of this instance, complete) until the bound is reached or the meter stops it. Returns
/// true if it reached the bound. `draft` is always complete and never higher than it came.
bool boost(const Instance& instance, std::vector<std::uint32_t> order, std::uint64_t seed, WorkMeter& meter,
           Draft& draft);

}  // namespace stowage::planner::placement
