// The least that any schedule of a small iteration recomputes within a budget, by trying them all.
//
// Before each op every sequence of evictions and restores is tried, on the model of the runtime. States that
// hold the same are one, with the least cost that leads there: Dijkstra's algorithm within an op, and dynamic
// programming from op to op. The number of states grows with two to the number of buffers that may go.
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/schedule/model/op_graph.h"

namespace stowage::planner::schedule {

/// In ns; nullopt: no schedule holds at most `budget` bytes.
[[nodiscard]] std::optional<std::uint64_t> optimal_replay_ns(const OpGraph& graph, std::uint64_t budget);

}  // namespace stowage::planner::schedule
