// Lifts placed pieces as far as what lies below them has come up, in order of where they were.
//
// Why: where a few pieces of a placement have grown, the order from the bottom up is still a good one. One
// pass over it makes a valid placement, higher by about as much as the pieces are, and costs far less than a
// search. (The decoding step of sequence-based packing, on one axis: see Imahori,
// Yagiura and Nagamochi, "Practical algorithms for two-dimensional packing", 2007.)
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "planner/placement/instance/draft.h"
#include "planner/placement/instance/instance.h"
#include "planner/placement/problem/work.h"

namespace stowage::planner::placement {

/// In place of an offset: nowhere yet, so above all that is somewhere.
inline constexpr std::uint64_t kOnTop = std::numeric_limits<std::uint64_t>::max();

/// Fills `draft` with offsets of all pieces. `were`: by piece, the offsets that give the order, in bytes, or
/// kOnTop; of equals the one first in the instance is the lower. What is free below a piece stays free.
/// Pieces with gaps are taken for solid ones. False when the meter stopped it. Requires: instance.flat(). O(n
/// log n).
bool lift(const Instance& instance, std::span<const std::uint64_t> were, WorkMeter& meter, Draft& draft);

}  // namespace stowage::planner::placement
