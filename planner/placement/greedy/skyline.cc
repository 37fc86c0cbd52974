#include "planner/placement/greedy/skyline.h"

#include <algorithm>

namespace stowage::planner::placement {
namespace {
constexpr std::uint64_t kWall = std::numeric_limits<std::uint64_t>::max();
}

Skyline::Skyline(std::uint32_t ranks, std::uint64_t floor, bool circular)
    : ranks_(ranks), circular_(circular), nodes_(ranks) {
  nodes_[0].height = floor;
}

Skyline::Skyline(std::uint32_t ranks, std::span<const std::pair<std::uint32_t, std::uint64_t>> plateaus)
    : Skyline(ranks, plateaus.front().second, false) {
  std::uint32_t last = 0;
  for (const auto& [begin, height] : plateaus.subspan(1)) {
    if (height == nodes_[last].height) continue;
    insert_after(last, begin, height);
    last = begin;
  }
}

std::uint32_t Skyline::end_of(std::uint32_t plateau) const {
  const std::uint32_t next = nodes_[plateau].next;
  return next == 0 ? ranks_ : next;
}

std::uint64_t Skyline::height_before(std::uint32_t plateau) const {
  return plateau == 0 && !circular_ ? kWall : nodes_[nodes_[plateau].previous].height;
}

std::uint64_t Skyline::height_after(std::uint32_t plateau) const {
  return nodes_[plateau].next == 0 && !circular_ ? kWall : nodes_[nodes_[plateau].next].height;
}

Plateau Skyline::lowest() {
  if (nodes_[0].next == 0) {
    near_ = 0;
    return {{0, ranks_, 0}, nodes_[0].height, kWall};
  }
  for (;;) {
    const std::uint64_t height = nodes_[near_].height;
    std::uint32_t first = near_, last = near_;  // they differ where the plateau goes over the end of time
    const std::uint32_t end = nodes_[0].previous;
    if (circular_ && nodes_[0].height == nodes_[end].height && (near_ == 0 || near_ == end)) {
      first = end;
      last = 0;
    }
    const std::uint64_t before = height_before(first), after = height_after(last);
    if (before < height) {
      near_ = nodes_[first].previous;
    } else if (after < height) {
      near_ = nodes_[last].next;
    } else {
      near_ = first;
      const Life span{first, end_of(first), first != last ? end_of(last) : 0};
      return {span, height, std::min(before, after)};
    }
  }
}

void Skyline::raise(const Life& span, std::uint64_t height) {
  // What begins before the plateau lies in that part of it which continues at the beginning of time.
  const std::uint32_t plateau = span.begin >= near_ ? near_ : 0;
  raise_within(plateau, span.begin, span.end, height);
  if (span.wrapped_end != 0) raise_within(0, 0, span.wrapped_end, height);
}

void Skyline::raise_within(std::uint32_t plateau, std::uint32_t begin, std::uint32_t end,
                           std::uint64_t height) {
  const std::uint64_t old = nodes_[plateau].height;
  std::uint32_t raised = plateau;
  near_ = plateau;
  if (end != end_of(plateau)) {
    insert_after(plateau, end, old);
    near_ = end;
  }
  if (begin != plateau) {
    insert_after(plateau, begin, height);
    raised = begin;
    near_ = plateau;
  }
  nodes_[raised].height = height;
  const std::uint32_t next = nodes_[raised].next;
  if (next != 0 && nodes_[next].height == height) {
    erase(next);
    if (near_ == next) near_ = raised;
  }
  const std::uint32_t previous = nodes_[raised].previous;
  if (raised == 0 || nodes_[previous].height != height) return;
  erase(raised);
  if (near_ == raised) near_ = previous;
}

void Skyline::insert_after(std::uint32_t plateau, std::uint32_t begin, std::uint64_t height) {
  Node& left = nodes_[plateau];
  nodes_[begin] = {height, plateau, left.next};
  nodes_[left.next].previous = begin;
  left.next = begin;
}

void Skyline::erase(std::uint32_t plateau) {
  const Node& gone = nodes_[plateau];
  nodes_[gone.previous].next = gone.next;
  nodes_[gone.next].previous = gone.previous;
}

}  // namespace stowage::planner::placement
