#include "planner/schedule/search/segments.h"

#include <algorithm>

namespace stowage::planner::schedule {
namespace {

/// A buffer that is used before the op that needs most, and again behind it.
struct Spanning {
  std::uint32_t buffer = 0;
  std::uint32_t made = 0;       ///< the first op that uses it
  std::uint32_t idle_from = 0;  ///< the op after the last one before
};

std::uint32_t neediest_op(const OpGraph& graph) {
  Model model(graph);
  std::uint64_t most = 0;
  std::uint32_t found = 0;
  for (const OpGraph::Event& event : graph.events) {
    if (event.kind == OpGraph::EventKind::kBirth) model.birth(event.index);
    if (event.kind == OpGraph::EventKind::kDeath) model.death(event.index);
    if (event.kind == OpGraph::EventKind::kEnd) model.end(event.index);
    if (event.kind != OpGraph::EventKind::kBegin) continue;
    model.lock(event.index);
    if (const std::uint64_t need = model.run(event.index); need > most) {
      most = need;
      found = event.index;
    }
  }
  return found;
}

std::vector<Spanning> spanning(const OpGraph& graph, std::uint32_t op, std::uint64_t smallest) {
  std::vector<Spanning> found;
  for (std::uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
    const std::vector<std::uint32_t>& touched = graph.touched[buffer];
    if (!graph.buffers[buffer].may_go || graph.buffers[buffer].bytes < smallest) continue;
    const auto after = std::upper_bound(touched.begin(), touched.end(), op);
    if (after == touched.begin() || after == touched.end() || *std::prev(after) == op) continue;
    found.push_back({buffer, touched.front(), *std::prev(after) + 1});
  }
  std::sort(found.begin(), found.end(), [](const Spanning& a, const Spanning& b) { return a.made < b.made; });
  return found;
}

/// An op of another segment, before `last`, starts from something that the buffer holds.
bool is_read_later(const OpGraph& graph, std::uint32_t buffer, std::uint32_t end, std::uint32_t last) {
  const std::vector<std::uint32_t>& touched = graph.touched[buffer];
  const auto later = std::lower_bound(touched.begin(), touched.end(), end);
  return later != touched.end() && *later <= last;
}

}  // namespace

std::vector<Step> segment_evictions(const OpGraph& graph, std::uint64_t bytes, std::uint64_t smallest) {
  const std::uint32_t neediest = neediest_op(graph);
  const std::vector<Spanning> held = spanning(graph, neediest, smallest);
  std::vector<Step> steps;
  for (auto begin = held.begin(); begin != held.end();) {
    std::uint64_t sum = 0;
    auto end = begin;
    for (; end != held.end() && (end == begin || sum < bytes); ++end) sum += graph.buffers[end->buffer].bytes;
    if (end == held.end()) break;  // the last one is used next
    for (const std::uint32_t border = end->made; begin != end; ++begin) {
      if (!is_read_later(graph, begin->buffer, border, neediest))
        steps.push_back({begin->idle_from, ActionKind::kEvict, begin->buffer});
    }
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.op < b.op; });
  return steps;
}

}  // namespace stowage::planner::schedule
