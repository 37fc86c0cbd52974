#include "planner/schedule/blocks/held.h"

#include <algorithm>

namespace stowage::planner::schedule {
namespace {

// Calls `before_op(model, op)` before each op; false ends the walk.
template <typename BeforeOp>
void walk(const OpGraph& graph, Model& model, BeforeOp before_op) {
  for (const OpGraph::Event& event : graph.events) {
    if (event.kind == OpGraph::EventKind::kBirth) model.birth(event.index);
    if (event.kind == OpGraph::EventKind::kDeath) model.death(event.index);
    if (event.kind == OpGraph::EventKind::kEnd) model.end(event.index);
    if (event.kind != OpGraph::EventKind::kBegin) continue;
    if (!before_op(event.index)) return;
    model.lock(event.index);
    static_cast<void>(model.run(event.index));
  }
}

}  // namespace

std::uint32_t neediest_op(const OpGraph& graph) {
  Model model(graph);
  std::uint64_t most = 0;
  std::uint32_t found = 0;
  walk(graph, model, [&](std::uint32_t op) {
    if (const std::uint64_t need = model.need_of(op); need > most) {
      most = need;
      found = op;
    }
    return true;
  });
  return found;
}

std::vector<HeldBuffer> held_over(const OpGraph& graph, std::uint32_t neediest, std::uint64_t smallest) {
  std::vector<HeldBuffer> held;
  for (std::uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
    const std::vector<std::uint32_t>& touched = graph.touched[buffer];
    if (!graph.buffers[buffer].may_go || graph.buffers[buffer].bytes < smallest) continue;
    const auto after = std::upper_bound(touched.begin(), touched.end(), neediest);
    if (after == touched.begin() || after == touched.end() || *std::prev(after) == neediest) continue;
    held.push_back({buffer, touched.front(), *std::prev(after) + 1, *after});
  }
  std::ranges::stable_sort(held, {}, &HeldBuffer::made);
  return held;
}

Model model_before(const OpGraph& graph, std::uint32_t op) {
  Model model(graph);
  walk(graph, model, [&](std::uint32_t next) { return next != op; });
  return model;
}

}  // namespace stowage::planner::schedule
