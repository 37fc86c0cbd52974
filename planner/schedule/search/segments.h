// Evictions as checkpointing knows them: the forward pass in segments, of each of which only what later
// segments start from is kept.
//
// Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016), for any graph: what is held over the
// op that needs most is cut into runs of about equal bytes, in the order in which it is made. Where a budget
// is tight, a sweep that starts with these evictions may fit though none does that evicts when it must.
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/model/play.h"

namespace stowage::planner::schedule {

/// Segments of about `bytes`; buffers below `smallest` stay. In order of op.
[[nodiscard]] std::vector<Step> segment_evictions(const OpGraph& graph, std::uint64_t bytes,
                                                  std::uint64_t smallest);

}  // namespace stowage::planner::schedule
