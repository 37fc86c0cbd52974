#include "planner/placement/instance.h"

#include <algorithm>

namespace stowage::planner::placement {
namespace {

bool occupies(const Item& item) { return item.size.value() != 0 && item.birth != item.death; }

bool wraps(const Problem& problem, const Item& item) {
  return problem.period != 0 && item.death > problem.period;
}

/// Sorted distinct births and deaths; 0 and the period are there whenever a lifetime wraps.
std::vector<std::uint64_t> change_times(const Problem& problem, std::uint32_t stream_class) {
  std::vector<std::uint64_t> times;
  for (const Item& item : problem.items) {
    if (item.stream_class != stream_class || !occupies(item)) continue;
    times.push_back(item.birth);
    if (wraps(problem, item)) {
      times.insert(times.end(), {0, problem.period, item.death - problem.period});
    } else {
      times.push_back(item.death);
    }
  }
  if (times.empty()) times = {0, 1};
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

std::uint32_t rank_of(const std::vector<std::uint64_t>& times, std::uint64_t time) {
  return static_cast<std::uint32_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
}

Life compress(const Problem& problem, const Item& item, const std::vector<std::uint64_t>& times) {
  if (!wraps(problem, item)) return Life{rank_of(times, item.birth), rank_of(times, item.death), 0};
  return Life{rank_of(times, item.birth), rank_of(times, problem.period),
              rank_of(times, item.death - problem.period)};
}

/// Live bytes at their most, and nothing below the end of an obstacle.
std::uint64_t bound_of(const Instance& instance) {
  std::vector<std::int64_t> change(instance.ranks + 1, 0);
  const auto add = [&](const Life& life, std::uint64_t size) {
    const auto bytes = static_cast<std::int64_t>(size);
    change[life.begin] += bytes;
    change[life.end] -= bytes;
    if (life.wrapped_end == 0) return;
    change[0] += bytes;
    change[life.wrapped_end] -= bytes;
  };
  std::uint64_t bound = 0;
  for (const Piece& piece : instance.pieces) add(piece.life, piece.size);
  for (const Obstacle& obstacle : instance.obstacles) {
    add(obstacle.life, obstacle.size);
    bound = std::max(bound, obstacle.offset + obstacle.size);
  }
  std::int64_t live = 0;
  for (std::int64_t step : change) bound = std::max(bound, static_cast<std::uint64_t>(live += step));
  return bound;
}

bool always_there(const Life& life, std::uint32_t ranks) {
  return life.end == ranks && life.wrapped_end >= life.begin;
}

/// Counts the obstacles that are always there and lie on the floor as part of it.
void raise_floor(Instance& instance) {
  std::sort(instance.obstacles.begin(), instance.obstacles.end(),
            [](const Obstacle& a, const Obstacle& b) { return a.offset < b.offset; });
  for (const Obstacle& obstacle : instance.obstacles) {
    if (!always_there(obstacle.life, instance.ranks) || obstacle.offset != instance.floor) break;
    instance.floor += obstacle.size;
    ++instance.floor_obstacles;
  }
}

}  // namespace

Instance build_instance(const Problem& problem, std::uint32_t stream_class,
                        std::span<const AddressRange> taken) {
  Instance instance;
  const std::vector<std::uint64_t> times = change_times(problem, stream_class);
  instance.ranks = static_cast<std::uint32_t>(times.size() - 1);
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const Item& item = problem.items[i];
    if (item.stream_class != stream_class || !occupies(item)) continue;
    const Life life = compress(problem, item, times);
    if (item.fixed) {
      instance.obstacles.push_back({life, item.fixed->value(), item.size.value()});
    } else {
      instance.pieces.push_back({life, item.size.value(), item.alignment.value(), item.death - item.birth,
                                 item.birth, static_cast<std::uint32_t>(i)});
    }
  }
  for (const AddressRange& range : taken) {
    instance.obstacles.push_back({Life{0, instance.ranks, 0}, range.begin, range.end - range.begin});
  }
  raise_floor(instance);
  instance.bound = bound_of(instance);
  return instance;
}

}  // namespace stowage::planner::placement
