// Lowest-first in stretches of time, of which those that are alike are placed once.
//
// Why: a job with micro-batches allocates the same again and again, with little alive in between. Time is cut
// where few pieces are alive. What crosses a cut is placed first, at the bottom; each stretch between two
// cuts is then a small problem of its own on the skyline that this leaves. Two stretches with the same
// pieces, at the same times relative to their beginnings, and the same skyline have the same answer: a
// million pieces cost as much as one micro-batch and a comparison. Nothing is assumed about periods: what is
// not alike is placed on its own.
//
// Thread safety: pure. Deterministic.
#pragma once

#include "planner/placement/greedy/decode.h"

namespace stowage::planner::placement {

struct FoldStatistics {
  std::size_t stretches = 0;
  std::size_t distinct = 0;  ///< stretches that were placed; the others took their offsets from these
  std::size_t crossing = 0;  ///< pieces that cross a cut
};

/// Places all pieces. False, with empty offsets, if time cannot be cut well (more than an eighth of the
/// pieces would cross), or the meter stopped it. Requires: instance.flat(). Pieces with gaps are taken for
/// solid ones.
bool place_folded(const Instance& instance, Key key, WorkMeter& meter, Draft& draft,
                  FoldStatistics* statistics = nullptr);

}  // namespace stowage::planner::placement
