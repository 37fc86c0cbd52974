#include "planner/placement/instance/instance.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "planner/placement/problem/long_sort.h"
#include "planner/placement/problem/stretches.h"

namespace stowage::planner::placement {
namespace {

constexpr std::size_t kLookEvery = 1u << 15;  ///< items

bool wraps(const Problem& problem, const Item& item) {
  return problem.period != 0 && item.death > problem.period;
}

/// On the circle: times up to the period stay as they are.
std::uint64_t fold(const Problem& problem, std::uint64_t time) {
  return problem.period != 0 && time > problem.period ? time - problem.period : time;
}

/// The times at which anything changes, and their ranks. Times that lie close together are counted, others
/// sorted.
class TimeAxis {
 public:
  /// Not to be used after a stop.
  TimeAxis(std::vector<std::uint64_t> times, const Limits& limits) {
    if (times.empty()) times = {0, 1};
    const auto stopped = [&limits] { return limits.stopped(); };
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    origin_ = *least;
    const std::uint64_t length = *most - *least;
    if (length > kSpread * times.size() || length >= std::numeric_limits<std::uint32_t>::max()) {
      if (!sort_unless(times, std::less<>(), stopped)) return;
      times.erase(std::unique(times.begin(), times.end()), times.end());
      sorted_ = std::move(times);
      count_ = static_cast<std::uint32_t>(sorted_.size());
      return;
    }
    const auto mark = [&](std::size_t i) { rank_[times[i] - origin_] = 1; };
    const auto number = [&](std::size_t i) { count_ += std::exchange(rank_[i], count_); };
    if (!zeroed_in_stretches(rank_, length + 1, stopped) || !in_stretches(times.size(), stopped, mark))
      return;
    in_stretches(rank_.size(), stopped, number);
  }

  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// Requires: `time` is one of the times.
  [[nodiscard]] std::uint32_t rank_of(std::uint64_t time) const {
    if (sorted_.empty()) return rank_[time - origin_];
    return static_cast<std::uint32_t>(std::lower_bound(sorted_.begin(), sorted_.end(), time) -
                                      sorted_.begin());
  }

 private:
  static constexpr std::uint64_t kSpread = 8;  ///< ticks for each time, up to which counting is the cheaper

  std::uint64_t origin_ = 0;
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> rank_;    ///< by time - origin_
  std::vector<std::uint64_t> sorted_;  ///< used instead if not empty
};

/// Births and deaths and the ends of gaps (none after a stop); 0 and the period are there whenever a lifetime
/// wraps.
TimeAxis axis_of(const Problem& problem, std::uint32_t stream_class, const Limits& limits) {
  std::vector<std::uint64_t> times;
  const std::size_t changes = 2 * (problem.items.size() + problem.gaps.size());
  times.reserve(problem.period == 0 ? changes : 2 * changes);  // growing would copy all of them at once
  const auto add = [&](std::uint64_t begin, std::uint64_t end) {
    times.insert(times.end(), {fold(problem, begin), fold(problem, end)});
  };
  std::size_t seen = 0;
  for (const Item& item : problem.items) {
    if (seen++ % kLookEvery == 0 && limits.stopped()) break;
    if (item.stream_class != stream_class || !occupies(item)) continue;
    add(item.birth, item.death);
    if (wraps(problem, item)) times.insert(times.end(), {0, problem.period});
  }
  for (const Gap& gap : problem.gaps) {
    if (seen++ % kLookEvery == 0 && limits.stopped()) break;
    const Item& item = problem.items[gap.item];
    if (item.stream_class == stream_class && occupies(item)) add(gap.begin, gap.end);
  }
  if (limits.stopped()) times.clear();
  return {std::move(times), limits};
}

Life compress(const Problem& problem, const Item& item, const TimeAxis& axis) {
  if (!wraps(problem, item)) return Life{axis.rank_of(item.birth), axis.rank_of(item.death), 0};
  return Life{axis.rank_of(item.birth), axis.rank_of(problem.period),
              axis.rank_of(item.death - problem.period)};
}

/// What an item needs when, as parts; `gaps` are its own.
void append_parts(const Problem& problem, const Item& item, std::span<const Gap> gaps, const TimeAxis& axis,
                  std::vector<Part>& parts) {
  const auto rank = [&](std::uint64_t time) { return axis.rank_of(fold(problem, time)); };
  const auto add = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t lower, std::uint64_t upper) {
    if (begin >= end || lower >= upper) return;
    if (problem.period != 0 && begin >= problem.period) {
      begin -= problem.period;
      end -= problem.period;
    }
    if (problem.period != 0 && begin < problem.period && end > problem.period) {
      parts.push_back({rank(begin), axis.rank_of(problem.period), lower, upper});
      begin = 0;
    }
    parts.push_back({rank(begin), rank(end), lower, upper});
  };
  std::uint64_t from = item.birth;
  for (const Gap& gap : gaps) {
    add(from, gap.begin, 0, item.size.value());
    add(gap.begin, gap.end, gap.lower.value(), gap.upper.value());
    from = gap.end;
  }
  add(from, item.death, 0, item.size.value());
}

/// Live bytes at their most; any number after a stop.
std::uint64_t most_live(const Instance& instance, const Limits& limits) {
  const auto stopped = [&limits] { return limits.stopped(); };
  std::vector<std::int64_t> change;
  if (!zeroed_in_stretches(change, instance.ranks + 1, stopped)) return 0;
  const auto add_span = [&](std::uint32_t begin, std::uint32_t end, std::uint64_t size) {
    change[begin] += static_cast<std::int64_t>(size);
    change[end] -= static_cast<std::int64_t>(size);
  };
  const auto add = [&](const Life& life, std::uint64_t size) {
    add_span(life.begin, life.end, size);
    if (life.wrapped_end != 0) add_span(0, life.wrapped_end, size);
  };
  const auto add_piece = [&](std::size_t p) {
    if (instance.pieces[p].solid()) add(instance.pieces[p].life, instance.pieces[p].size);
  };
  if (!in_stretches(instance.pieces.size(), stopped, add_piece)) return 0;
  for (const Part& part : instance.parts) add_span(part.begin, part.end, part.upper - part.lower);
  for (const Obstacle& obstacle : instance.obstacles) add(obstacle.life, obstacle.size);
  std::int64_t live = 0;
  std::uint64_t most = 0;
  for (std::int64_t step : change) most = std::max(most, static_cast<std::uint64_t>(live += step));
  return most;
}

bool always_there(const Life& life, std::uint32_t ranks) {
  return life.end == ranks && life.wrapped_end >= life.begin;
}

/// Counts the obstacles that are always there and lie on the floor as part of it.
void raise_floor(Instance& instance) {
  const auto lower = [](const Obstacle& a, const Obstacle& b) { return a.offset < b.offset; };
  if (!std::is_sorted(instance.obstacles.begin(), instance.obstacles.end(), lower))
    std::sort(instance.obstacles.begin(), instance.obstacles.end(), lower);
  for (const Obstacle& obstacle : instance.obstacles) {
    if (!always_there(obstacle.life, instance.ranks) || obstacle.offset != instance.floor) break;
    instance.floor += obstacle.size;
    ++instance.floor_obstacles;
  }
}

/// The gaps of item `index`, which stand at or after `from`; moves `from` behind them.
std::span<const Gap> gaps_of(const Problem& problem, std::size_t index, std::size_t& from) {
  while (from < problem.gaps.size() && problem.gaps[from].item < index) ++from;
  const std::size_t first = from;
  while (from < problem.gaps.size() && problem.gaps[from].item == index) ++from;
  return std::span(problem.gaps).subspan(first, from - first);
}

void add_fixed(const Item& item, const Life& life, std::span<const Part> parts, Instance& instance) {
  const std::uint64_t offset = item.fixed->value();
  instance.bound = std::max(instance.bound, offset + item.size.value());
  if (parts.empty()) instance.obstacles.push_back({life, offset, item.size.value()});
  for (const Part& part : parts) {
    instance.obstacles.push_back(
        {Life{part.begin, part.end, 0}, offset + part.lower, part.upper - part.lower});
  }
}

void take_for_solid(Instance& instance) {
  instance.parts.clear();
  for (Piece& piece : instance.pieces) piece.first_part = piece.part_count = 0;
}

}  // namespace

void hold_ranges(Instance& instance, std::span<const AddressRange> taken) {
  std::uint64_t held = 0;
  for (const AddressRange& range : taken) {
    instance.obstacles.push_back({Life{0, instance.ranks, 0}, range.begin, range.end - range.begin});
    held += range.end - range.begin;
  }
  if (!taken.empty()) instance.bound = std::max({instance.bound, instance.live + held, taken.back().end});
  instance.floor = 0;
  instance.floor_obstacles = 0;
  raise_floor(instance);
}

Instance build_instance(const Problem& problem, std::uint32_t stream_class,
                        std::span<const AddressRange> taken, const Limits& limits) {
  Instance instance;
  instance.stream_class = stream_class;
  if (limits.stopped()) return instance;
  const TimeAxis axis = axis_of(problem, stream_class, limits);
  if (limits.stopped()) return instance;
  instance.ranks = axis.count() - 1;
  const bool alone = problem.regions.empty() && stream_classes(problem).size() == 1;
  if (alone) instance.pieces.reserve(problem.items.size());
  if (alone) instance.parts.reserve(3 * problem.gaps.size());  // growing would copy all of them at once
  std::size_t next_gap = 0;
  std::vector<Part> parts;
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    if (i % kLookEvery == 0 && limits.stopped()) return instance;
    const Item& item = problem.items[i];
    if (item.stream_class != stream_class || !occupies(item)) continue;
    const Life life = compress(problem, item, axis);
    const std::span<const Gap> gaps = gaps_of(problem, i, next_gap);
    parts.clear();
    if (!gaps.empty()) append_parts(problem, item, gaps, axis, parts);
    if (!gaps.empty() && parts.empty()) {  // needs no byte at any time
      if (alone) continue;
      parts.push_back({life.begin, life.end, 0, 0});
    }
    if (item.fixed) {
      add_fixed(item, life, parts, instance);
      continue;
    }
    instance.pieces.push_back({life, item.size.value(), item.alignment.value(), item.death - item.birth,
                               item.birth, static_cast<std::uint32_t>(i),
                               static_cast<std::uint32_t>(instance.parts.size()),
                               static_cast<std::uint32_t>(parts.size())});
    instance.parts.insert(instance.parts.end(), parts.begin(), parts.end());
  }
  instance.live = most_live(instance, limits);
  if (limits.stopped()) return instance;
  instance.bound = std::max(instance.bound, instance.live);
  for (const Piece& piece : instance.pieces) instance.bound = std::max(instance.bound, piece.size);
  hold_ranges(instance, taken);
  if (!alone) take_for_solid(instance);
  return instance;
}

}  // namespace stowage::planner::placement
