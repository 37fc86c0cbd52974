#include "planner/placement/instance/containment.h"

#include <algorithm>

#include "planner/placement/problem/long_sort.h"
#include "planner/placement/problem/stretches.h"

namespace stowage::planner::placement {

Containment::Containment(const Instance& instance, std::span<const std::uint32_t> order, WorkMeter& meter)
    : ranks_(instance.ranks) {
  points_.reserve(order.size());
  meter.look_now();
  for (std::uint32_t position = 0; position < order.size() && meter.spend(1); ++position) {
    const Life& life = instance.pieces[order[position]].life;
    points_.push_back({life.begin, life.end + life.wrapped_end, position});
  }
  std::size_t leaves = 1;
  while (leaves * kLeaf < points_.size()) leaves *= 2;
  const auto stopped = [&meter] { return !meter.look_now(); };
  if (!zeroed_in_stretches(leaf_of_, points_.size(), stopped)) return;
  if (!zeroed_in_stretches(slot_of_, points_.size(), stopped)) return;
  if (!zeroed_in_stretches(nodes_, 2 * leaves, stopped)) return;
  build(1, 0, static_cast<std::uint32_t>(points_.size()), true, meter);
  if (!meter.out()) list_starters(instance, order, meter);
}

void Containment::list_starters(const Instance& instance, std::span<const std::uint32_t> order,
                                WorkMeter& meter) {
  starters_from_.assign(ranks_ + 2, 0);
  if (!meter.look_now()) return;
  for (const Piece& piece : instance.pieces) ++starters_from_[piece.life.begin + 2];
  if (!meter.spend(2 * instance.pieces.size())) return;
  for (std::size_t rank = 2; rank < starters_from_.size(); ++rank)
    starters_from_[rank] += starters_from_[rank - 1];
  if (!meter.look_now()) return;
  const auto stopped = [&meter] { return !meter.look_now(); };
  if (!zeroed_in_stretches(starters_, order.size(), stopped)) return;
  if (!zeroed_in_stretches(starter_of_, order.size(), stopped)) return;
  for (std::uint32_t position = 0; position < order.size() && meter.spend(1); ++position) {
    const Life& life = instance.pieces[order[position]].life;
    const std::uint32_t at = starters_from_[life.begin + 1]++;
    starters_[at] = {life.end + life.wrapped_end, position};
    starter_of_[position] = at;
  }
}

void Containment::build(std::uint32_t node, std::uint32_t first, std::uint32_t last, bool by_begin,
                        WorkMeter& meter) {
  if (!meter.spend(last - first)) return;
  // Long nodes are halved as the sort by begin has left them: no selection among so many is needed.
  const bool long_one = last - first > kSortStretch;
  if (long_one && node == 1 &&
      !sort_unless(
          points_, [](const Point& a, const Point& b) { return a.begin < b.begin; },
          [&meter] { return !meter.spend(kSortStretch); }))
    return;
  Node& self = nodes_[node];
  self = {first, last, kNone, 0, kNone, 0, kNone};
  if (2 * node >= nodes_.size()) {
    for (std::uint32_t i = first; i < last; ++i) {
      leaf_of_[points_[i].position] = node;
      slot_of_[points_[i].position] = i;
    }
  } else {
    const std::uint32_t middle = first + (last - first) / 2;
    if (!long_one)
      std::nth_element(points_.begin() + first, points_.begin() + middle, points_.begin() + last,
                       [by_begin](const Point& a, const Point& b) {
                         return (by_begin ? a.begin < b.begin : a.end < b.end);
                       });
    build(2 * node, first, middle, !by_begin || long_one, meter);
    build(2 * node + 1, middle, last, !by_begin || long_one, meter);
    if (meter.out()) return;  // at once, and not after a pass over the points of each node on the way up
  }
  for (std::uint32_t i = first; i < last; ++i) {
    self.min_begin = std::min(self.min_begin, points_[i].begin);
    self.max_begin = std::max(self.max_begin, points_[i].begin);
    self.min_end = std::min(self.min_end, points_[i].end);
    self.max_end = std::max(self.max_end, points_[i].end);
    self.earliest = std::min(self.earliest, points_[i].position);
  }
}

std::uint32_t Containment::first_within(const Life& span, std::uint64_t& work) const {
  std::uint32_t best = kNone;
  if (span.begin == 0 && span.end == ranks_) return nodes_[1].earliest;  // all of time: wrapped lives fit too
  look(span.begin, span.end + span.wrapped_end, best, work);
  if (span.wrapped_end != 0) look(0, span.wrapped_end, best, work);
  return best;
}

void Containment::look(std::uint32_t begin, std::uint32_t end, std::uint32_t& best,
                       std::uint64_t& work) const {
  const std::uint32_t first = starters_from_[begin];
  const std::uint32_t last = starters_from_[std::min(end, ranks_)];
  if (last - first > kFew) return search(1, begin, end, best, work);
  work += last - first;
  for (std::uint32_t i = first; i < last; ++i) {
    if (starters_[i].end <= end) best = std::min(best, starters_[i].position);
  }
}

void Containment::search(std::uint32_t node, std::uint32_t begin, std::uint32_t end, std::uint32_t& best,
                         std::uint64_t& work) const {
  const Node& self = nodes_[node];
  ++work;
  if (self.earliest >= best || self.max_begin < begin || self.min_end > end) return;
  if (self.min_begin >= begin && self.max_end <= end) {
    best = self.earliest;
    return;
  }
  if (2 * node >= nodes_.size()) {
    work += self.last - self.first;
    for (std::uint32_t i = self.first; i < self.last; ++i) {
      const Point& point = points_[i];
      if (point.begin >= begin && point.end <= end) best = std::min(best, point.position);
    }
    return;
  }
  const std::uint32_t sooner =
      nodes_[2 * node].earliest <= nodes_[2 * node + 1].earliest ? 2 * node : 2 * node + 1;
  search(sooner, begin, end, best, work);
  search(sooner ^ 1u, begin, end, best, work);
}

void Containment::remove(std::uint32_t position) {
  points_[slot_of_[position]].position = kNone;
  starters_[starter_of_[position]].position = kNone;
  std::uint32_t node = leaf_of_[position];
  nodes_[node].earliest = kNone;
  for (std::uint32_t i = nodes_[node].first; i < nodes_[node].last; ++i) {
    nodes_[node].earliest = std::min(nodes_[node].earliest, points_[i].position);
  }
  while ((node /= 2) != 0 && nodes_[node].earliest == position)
    nodes_[node].earliest = std::min(nodes_[2 * node].earliest, nodes_[2 * node + 1].earliest);
}

}  // namespace stowage::planner::placement
