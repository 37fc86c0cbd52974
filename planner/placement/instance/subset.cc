#include "planner/placement/instance/subset.h"

#include <algorithm>
#include <numeric>

namespace stowage::planner::placement {
namespace {

/// The most bytes of the instance's pieces and obstacles that live at one rank, and the highest obstacle.
std::uint64_t bound_of(const Instance& instance) {
  std::vector<std::pair<std::uint32_t, std::int64_t>> changes;
  const auto add = [&](const Life& life, std::uint64_t size) {
    const auto bytes = static_cast<std::int64_t>(size);
    changes.insert(changes.end(), {{life.begin, bytes}, {life.end, -bytes}});
    if (life.wrapped_end != 0) changes.insert(changes.end(), {{0, bytes}, {life.wrapped_end, -bytes}});
  };
  std::uint64_t bound = 0;
  for (const Piece& piece : instance.pieces) add(piece.life, piece.size);
  for (const Obstacle& obstacle : instance.obstacles) {
    add(obstacle.life, obstacle.size);
    bound = std::max(bound, obstacle.offset + obstacle.size);
  }
  std::sort(changes.begin(), changes.end());  // at one rank the deaths come first
  std::int64_t live = 0;
  for (const auto& [rank, change] : changes)
    bound = std::max(bound, static_cast<std::uint64_t>(std::max<std::int64_t>(live += change, 0)));
  return bound;
}

/// From the first to the last rank of the pieces; all of time if some of them wrap.
Life hull_of(const Instance& part) {
  Life hull{part.ranks, 0, 0};
  for (const Piece& piece : part.pieces) {
    if (piece.life.wrapped_end != 0) return {0, part.ranks, 0};
    hull.begin = std::min(hull.begin, piece.life.begin);
    hull.end = std::max(hull.end, piece.life.end);
  }
  return hull;
}

void hold(Instance& part, const Life& hull, const Life& life, std::uint64_t offset, std::uint64_t size,
          std::uint64_t ceiling) {
  if (offset >= ceiling || !meet(hull, life)) return;
  const bool wanted = std::any_of(part.pieces.begin(), part.pieces.end(),
                                  [&](const Piece& piece) { return meet(piece.life, life); });
  if (wanted) part.obstacles.push_back({life, offset, std::min(size, ceiling - offset)});
}

}  // namespace

std::uint64_t unit_of(const Instance& instance) {
  std::uint64_t unit = 0;
  for (const Piece& piece : instance.pieces) {
    unit = std::gcd(unit, piece.size);
    if (piece.alignment > 1) unit = std::gcd(unit, piece.alignment);
  }
  for (const Obstacle& obstacle : instance.obstacles)
    unit = std::gcd(unit, std::gcd(obstacle.offset, obstacle.size));
  return std::max<std::uint64_t>(unit, 1);
}

Instance only(const Instance& instance, std::span<const std::uint32_t> pieces) {
  Instance part;
  part.ranks = instance.ranks;
  part.parts = instance.parts;
  part.obstacles = instance.obstacles;
  part.floor = instance.floor;
  part.floor_obstacles = instance.floor_obstacles;
  for (std::uint32_t piece : pieces) part.pieces.push_back(instance.pieces[piece]);
  part.bound = bound_of(part);
  return part;
}

Instance around(const Instance& instance, std::span<const std::uint32_t> pieces,
                std::span<const std::uint64_t> offsets, std::uint64_t ceiling) {
  Instance part;
  part.ranks = instance.ranks;
  part.parts = instance.parts;
  std::vector<char> own(instance.pieces.size(), 0);
  for (std::uint32_t piece : pieces) {
    own[piece] = 1;
    part.pieces.push_back(instance.pieces[piece]);
  }
  const Life hull = hull_of(part);
  for (const Obstacle& obstacle : instance.obstacles)
    hold(part, hull, obstacle.life, obstacle.offset, obstacle.size, ceiling);
  for (std::size_t i = 0; i < instance.pieces.size(); ++i) {
    const Piece& piece = instance.pieces[i];
    if (own[i] != 0) continue;
    if (piece.solid()) hold(part, hull, piece.life, offsets[i], piece.size, ceiling);
    for (const Part& used : instance.parts_of(piece))
      hold(part, hull, Life{used.begin, used.end, 0}, offsets[i] + used.lower, used.upper - used.lower,
           ceiling);
  }
  std::sort(part.obstacles.begin(), part.obstacles.end(),
            [](const Obstacle& a, const Obstacle& b) { return a.offset < b.offset; });
  part.bound = bound_of(part);
  return part;
}

}  // namespace stowage::planner::placement
