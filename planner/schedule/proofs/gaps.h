// When each buffer of an iteration can be out of memory, what bringing it back costs at least, and how much
// has to be out while each op runs.
//
// A gap is the time between two ops that use a buffer; for what lasts, also from the last one on into the
// next iteration. What is evicted in a gap that ends with a use takes its maker again, and of what that
// starts from whatever is dead when the first op in the gap begins, down to what is there. One run of an op
// may serve several gaps: each counts its share of it. What is offloaded takes a copy back, and its share of
// one there, which serves all gaps of one content.
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "planner/schedule/model/op_graph.h"

namespace stowage::planner::schedule {

/// The cost of what cannot be done.
inline constexpr double kNoWay = std::numeric_limits<double>::infinity();

struct Gap {
  std::uint32_t first = 0;  ///< the ops that run meanwhile: [first, end)
  std::uint32_t end = 0;
  std::uint64_t bytes = 0;
  double replay_ns = kNoWay;   ///< if it is evicted
  double there_ns = kNoWay;    ///< if it is offloaded: the copy to the store
  double back_ns = kNoWay;     ///< and the one back
  std::uint32_t next_end = 0;  ///< and those of the next iteration before this one
};

struct GapTable {
  std::vector<Gap> gaps;              ///< each is worth evicting in only at a cost
  std::vector<std::uint64_t> needed;  ///< by op: bytes held at least, with all evicted that costs nothing
  CopyLanes copy_lanes = CopyLanes::kNone;
  std::uint64_t ops_ns = 0;  ///< of all ops: in so much time the copies of a lane can be hidden
};

/// Of buffers of at least `smallest` bytes.
[[nodiscard]] GapTable make_gaps(const OpGraph& graph, std::uint64_t smallest);

}  // namespace stowage::planner::schedule
