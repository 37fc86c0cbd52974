// A lower bound where fixed buffers cut the addresses into pieces.
//
// Small tensors that stay in the middle of an arena leave holes between them. A hole holds no more than a
// whole number of buffers of one size, so many holes hold far less than their bytes say. Counted for a size
// s: a buffer of n bytes needs floor(n / s) units, and a hole of m bytes has floor(m / s). At each time all
// units that are alive need holes, from the lowest one up, and the last hole has no end. That is a dual
// feasible function of bin packing (Fekete and Schepers, "New classes of fast lower bounds for bin packing
// problems", 2001). It is tried for the sizes that occur.
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>

#include "planner/placement/instance/instance.h"

namespace stowage::planner::placement {

/// No placement of the instance is lower, in bytes; 0 where no obstacle is there at all times. O(n) for each
/// of a few dozen sizes; fewer of them in a large instance.
[[nodiscard]] std::uint64_t fragment_bound(const Instance& instance);

/// Bytes that obstacles hold at all times.
[[nodiscard]] std::uint64_t lasting_bytes(const Instance& instance);

}  // namespace stowage::planner::placement
