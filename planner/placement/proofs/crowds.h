// A lower bound where buffers with gaps meet at different times.
//
// At each time what is alive must lie side by side. What has gaps keeps its address over all of them, so a
// buffer that is not alive at that time, but at some other time with each of those that are, must lie beside
// them too. An example: the two places that a kind's twins have for a batch. One of them is carried into the
// next kind at a time, each of them now and then, and so nothing of that kind can be in either.
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>

#include "planner/placement/instance/instance.h"

namespace stowage::planner::placement {

/// No placement of the instance is lower, in bytes; 0 where no piece has gaps, some need but a part of their
/// bytes, or the work would be too much. Near O(pairs of pieces that meet).
[[nodiscard]] std::uint64_t crowd_bound(const Instance& instance, const Limits& limits = {});

}  // namespace stowage::planner::placement
