#include "planner/placement/proofs/fragments.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace stowage::planner::placement {
namespace {

/// Sizes that are tried, at most.
constexpr std::size_t kMostSizes = 64;
/// Steps that they may take together.
constexpr std::uint64_t kMostSteps = 16'000'000;

using Ranges = std::vector<AddressRange>;

bool is_lasting(const Obstacle& obstacle, std::uint32_t ranks) {
  const Life& life = obstacle.life;
  return life.end == ranks && (life.begin == 0 || life.wrapped_end >= life.begin);
}

/// What nothing is in at any time but what is placed or comes and goes, from the bottom up; the last one ends
/// where addresses do.
Ranges holes_of(const Instance& instance) {
  Ranges holes;
  std::uint64_t held = 0;
  for (const Obstacle& obstacle : instance.obstacles) {
    if (!is_lasting(obstacle, instance.ranks)) continue;
    if (obstacle.offset > held) holes.push_back({held, obstacle.offset});
    held = std::max(held, obstacle.offset + obstacle.size);
  }
  holes.push_back({held, kMaxTotalBytes});
  return holes;
}

/// Distinct sizes of pieces; where there are many, as many as may be tried.
std::vector<std::uint64_t> sizes_of(const Instance& instance) {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(instance.pieces.size());
  for (const Piece& piece : instance.pieces) sizes.push_back(piece.size);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  const std::size_t steps = instance.pieces.size() + instance.parts.size() + instance.ranks;
  const std::size_t most = std::min<std::size_t>(kMostSizes, kMostSteps / std::max<std::size_t>(steps, 1));
  std::vector<std::uint64_t> tried;
  for (std::size_t i = 0; i < std::min(most, sizes.size()); ++i)
    tried.push_back(sizes[i * sizes.size() / std::min(most, sizes.size())]);
  return tried;
}

/// Most units of `size` bytes that are alive at one time.
std::uint64_t most_alive(const Instance& instance, std::uint64_t size, std::vector<std::int64_t>& change) {
  change.assign(instance.ranks + 1, 0);
  const auto add = [&](std::uint32_t begin, std::uint32_t end, std::uint64_t bytes) {
    change[begin] += static_cast<std::int64_t>(bytes / size);
    change[end] -= static_cast<std::int64_t>(bytes / size);
  };
  const auto add_life = [&](const Life& life, std::uint64_t bytes) {
    add(life.begin, life.end, bytes);
    if (life.wrapped_end != 0) add(0, life.wrapped_end, bytes);
  };
  for (const Piece& piece : instance.pieces) {
    if (piece.solid()) add_life(piece.life, piece.size);
  }
  for (const Part& part : instance.parts) add(part.begin, part.end, part.upper - part.lower);
  for (const Obstacle& obstacle : instance.obstacles) {
    if (!is_lasting(obstacle, instance.ranks)) add_life(obstacle.life, obstacle.size);
  }
  std::int64_t alive = 0, most = 0;
  for (const std::int64_t step : change) most = std::max(most, alive += step);
  return static_cast<std::uint64_t>(most);
}

/// Where so many units end that fill the holes from the lowest one up.
std::uint64_t end_of(std::uint64_t units, std::uint64_t size, const Ranges& holes) {
  for (const AddressRange& hole : holes) {
    const std::uint64_t room = (hole.end - hole.begin) / size;
    if (units <= room) return units == 0 ? 0 : hole.begin + units * size;
    units -= room;
  }
  return 0;
}

}  // namespace

std::uint64_t fragment_bound(const Instance& instance) {
  const Ranges holes = holes_of(instance);
  if (holes.size() == 1 && holes.front().begin == 0) return 0;
  std::vector<std::int64_t> change;
  std::uint64_t bound = 0;
  for (const std::uint64_t size : sizes_of(instance))
    bound = std::max(bound, end_of(most_alive(instance, size, change), size, holes));
  return bound;
}

std::uint64_t lasting_bytes(const Instance& instance) {
  std::uint64_t sum = 0;
  for (const Obstacle& obstacle : instance.obstacles)
    sum += is_lasting(obstacle, instance.ranks) ? obstacle.size : 0;
  return sum;
}

}  // namespace stowage::planner::placement
