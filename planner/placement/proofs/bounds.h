// How low a placement can be at all: certificates beyond the live bytes.
//
// At each time what is alive must lie side by side. Three things make that more than the sum of sizes:
// alignment (between two buffers there is waste unless sizes are multiples), buffers that are fixed (what is
// left between them may be too small for what must lie there, as in bin packing), and reach (without
// alignments a height is a sum of sizes, so a proof raises the bound to the next such sum). Where these end,
// branch and bound on the buffers of a few neighbouring cliques proves heights impossible, and what is
// impossible for some of the buffers is impossible for all. Buffers with gaps are left to the live bytes.
//
// Thread safety: pure functions. Deterministic.
#pragma once

#include <cstdint>

#include "planner/placement/instance/instance.h"
#include "planner/placement/problem/work.h"

namespace stowage::planner::placement {

/// No placement of the instance is lower, in bytes; at least instance.bound. Near O(n log n) without
/// obstacles; among these the work is limited. Less tight, but no less true, if `limits` say stop.
[[nodiscard]] std::uint64_t clique_bound(const Instance& instance, const Limits& limits = {});

/// Raises `bound`, a lower bound of the instance, by proofs on windows around its fullest times until it
/// meets `height`, that of a placement, or the meter stops it. Returns the raised bound.
[[nodiscard]] std::uint64_t prove_bound(const Instance& instance, std::uint64_t bound, std::uint64_t height,
                                        const Limits& limits, WorkMeter& meter);

}  // namespace stowage::planner::placement
