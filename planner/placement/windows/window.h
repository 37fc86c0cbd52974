// Large-neighbourhood search: takes out the few pieces around the highest point and puts them back exactly.
//
// What greedy passes leave is often one bad corner. A window is the piece that reaches highest and some of
// those that live at the same time, up to 16; all others stay where they are. Whether they can lie lower is
// decided by branch and bound, or by lp_solve on MODeL's location program (location_ilp.h). The height falls
// once every place that reached it has been lowered.
//
// Source: large-neighbourhood search (Shaw, 1998); the windows are MODeL's idea of anchoring most tensors.
// Thread safety: pure. Deterministic for a given seed and work share.
#pragma once

#include <cstdint>

#include "planner/placement/instance/draft.h"
#include "planner/placement/instance/instance.h"

namespace stowage::planner::placement {

struct WindowOptions {
  std::size_t pieces = 16;      ///< of a window, at most
  bool ilp = false;             ///< by lp_solve instead of branch and bound
  std::uint64_t seed = 1;       ///< of the choice of neighbours
  std::uint32_t patience = 64;  ///< windows in a row that may bring nothing
};

/// Lowers `draft` (of this instance, complete) until its height is at most `target` (bytes; at least the
/// instance's bound makes sense), the meter stops it, or patience ends. True if the target was reached.
/// `limits` are those of the meter.
/// Pieces with gaps are put back as solid ones, into the gaps of those that stay.
bool improve_by_windows(const Instance& instance, std::uint64_t target, const WindowOptions& options,
                        const Limits& limits, WorkMeter& meter, Draft& draft);

}  // namespace stowage::planner::placement
