#include "planner/schedule/search/segments.h"

#include <algorithm>

#include "planner/schedule/chains/checkpoints.h"

namespace stowage::planner::schedule {

Segments::Segments(const OpGraph& graph, std::uint64_t smallest)
    : graph_(graph), neediest_(neediest_op(graph)), held_(held_over(graph, neediest_, smallest)) {}

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
  for (const HeldBuffer& one : held_) layers.push_back({.output = graph_.buffers[one.buffer].bytes});
  std::vector<std::size_t> borders;
  for (const std::uint32_t kept : least_traced_peak(layers).kept) {
    if (kept + 1 < held_.size()) borders.push_back(kept + 1);
  }
  return evictions_before(borders);
}

}  // namespace stowage::planner::schedule
