#include "planner/schedule/search/segments.h"

#include <algorithm>

#include "planner/schedule/chains/checkpoints.h"

namespace stowage::planner::schedule {
namespace {

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

}  // namespace

Segments::Segments(const OpGraph& graph, std::uint64_t smallest)
    : graph_(graph), neediest_(neediest_op(graph)) {
  for (std::uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
    const std::vector<std::uint32_t>& touched = graph.touched[buffer];
    if (!graph.buffers[buffer].may_go || graph.buffers[buffer].bytes < smallest) continue;
    const auto after = std::upper_bound(touched.begin(), touched.end(), neediest_);
    if (after == touched.begin() || after == touched.end() || *std::prev(after) == neediest_) continue;
    held_.push_back({buffer, touched.front(), *std::prev(after) + 1});
  }
  std::sort(held_.begin(), held_.end(), [](const Spanning& a, const Spanning& b) { return a.made < b.made; });
}

// An op of another segment, before the neediest one, starts from something that the buffer holds.
bool Segments::is_read_later(std::uint32_t buffer, std::uint32_t end) const {
  const std::vector<std::uint32_t>& touched = graph_.touched[buffer];
  const auto later = std::lower_bound(touched.begin(), touched.end(), end);
  return later != touched.end() && *later <= neediest_;
}

// Each border is where a segment begins, the first one left out. The last segment is used next.
std::vector<Step> Segments::evictions_before(const std::vector<std::size_t>& borders) const {
  std::vector<Step> steps;
  std::size_t at = 0;
  for (const std::size_t border : borders) {
    for (; at < border; ++at) {
      if (!is_read_later(held_[at].buffer, held_[border].made))
        steps.push_back({held_[at].idle_from, ActionKind::kEvict, held_[at].buffer});
    }
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.op < b.op; });
  return steps;
}

std::vector<Step> Segments::evictions(std::uint64_t bytes) const {
  std::vector<std::size_t> borders;
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < held_.size(); ++at) {
    if (sum >= bytes && sum > 0) {
      borders.push_back(at);
      sum = 0;
    }
    sum += graph_.buffers[held_[at].buffer].bytes;
  }
  return evictions_before(borders);
}

std::vector<Step> Segments::evictions_of_chain() const {
  std::vector<Layer> layers;
  for (const Spanning& one : held_) layers.push_back({.output = graph_.buffers[one.buffer].bytes});
  std::vector<std::size_t> borders;
  for (const std::uint32_t kept : least_traced_peak(layers).kept) {
    if (kept + 1 < held_.size()) borders.push_back(kept + 1);
  }
  return evictions_before(borders);
}

}  // namespace stowage::planner::schedule
