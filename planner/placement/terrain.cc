#include "planner/placement/terrain.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace stowage::planner::placement {
namespace {
constexpr std::uint64_t kWall = std::numeric_limits<std::uint64_t>::max();
}

Terrain::Terrain(std::uint32_t ranks, std::uint64_t floor, bool circular)
    : ranks_(ranks), circular_(circular) {
  note(plateaus_.emplace(0, floor).first);
}

void Terrain::note(Map::const_iterator plateau) {
  heap_.push_back({plateau->second, plateau->first});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

std::uint32_t Terrain::end_of(Map::const_iterator plateau) const {
  const auto next = std::next(plateau);
  return next == plateaus_.end() ? ranks_ : next->first;
}

std::uint64_t Terrain::height_before(std::uint32_t begin) const {
  if (begin != 0) return std::prev(plateaus_.find(begin))->second;
  return circular_ ? plateaus_.rbegin()->second : kWall;
}

std::uint64_t Terrain::height_after(std::uint32_t end) const {
  if (end != ranks_) return plateaus_.find(end)->second;
  return circular_ ? plateaus_.begin()->second : kWall;
}

Plateau Terrain::lowest() {
  auto found = plateaus_.end();
  for (;;) {
    const Known& top = heap_.front();
    found = plateaus_.find(top.begin);
    if (found != plateaus_.end() && found->second == top.height) break;
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
  }
  const std::uint64_t height = found->second;
  if (plateaus_.size() == 1) return {{0, ranks_, 0}, height, kWall};
  Life span{found->first, end_of(found), 0};
  if (circular_ && plateaus_.begin()->second == height && plateaus_.rbegin()->second == height &&
      (span.begin == 0 || span.end == ranks_)) {
    span = {plateaus_.rbegin()->first, ranks_, end_of(plateaus_.begin())};
  }
  const std::uint32_t end = span.wrapped_end != 0 ? span.wrapped_end : span.end;
  return {span, height, std::min(height_before(span.begin), height_after(end))};
}

void Terrain::raise(const Life& span, std::uint64_t height) {
  raise_span(span.begin, span.end, height);
  if (span.wrapped_end != 0) raise_span(0, span.wrapped_end, height);
}

void Terrain::raise_span(std::uint32_t begin, std::uint32_t end, std::uint64_t height) {
  auto old = std::prev(plateaus_.upper_bound(begin));
  const std::uint64_t before = old->second;
  if (end != ranks_ && plateaus_.find(end) == plateaus_.end()) note(plateaus_.emplace(end, before).first);
  auto changed = plateaus_.insert_or_assign(begin, height).first;
  if (const auto after = std::next(changed); after != plateaus_.end() && after->second == height)
    plateaus_.erase(after);
  if (changed != plateaus_.begin() && std::prev(changed)->second == height) {
    changed = std::prev(plateaus_.erase(changed));
  }
  note(changed);
}

}  // namespace stowage::planner::placement
