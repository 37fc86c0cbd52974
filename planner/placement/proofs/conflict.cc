#include "planner/placement/proofs/conflict.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "planner/placement/instance/instance.h"
#include "planner/placement/proofs/bounds.h"
#include "planner/placement/search/search.h"

namespace stowage::planner::placement {
namespace {

/// Work units of one proof.
constexpr std::uint64_t kShare = 50'000'000;

/// Bytes that the item uses at `time`, which is within the period.
std::uint64_t used_at(const Problem& problem, std::size_t index, std::size_t first_gap, std::uint64_t time) {
  const Item& item = problem.items[index];
  if (time < item.birth) time += problem.period;
  if (time < item.birth || time >= item.death) return 0;
  for (std::size_t g = first_gap; g < problem.gaps.size() && problem.gaps[g].item == index; ++g) {
    const Gap& gap = problem.gaps[g];
    if (gap.begin <= time && time < gap.end) return (gap.upper - gap.lower).value();
  }
  return item.size.value();
}

/// The first time at which the class has the most live bytes: one at which an item begins, or a gap ends.
std::uint64_t fullest_time(const Problem& problem, std::uint32_t stream_class) {
  LiveChanges changes = live_changes(problem, stream_class);
  std::sort(changes.begin(), changes.end());
  std::int64_t live = 0, most = -1;
  std::uint64_t when = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    live += changes[i].second;
    const bool settled = i + 1 == changes.size() || changes[i + 1].first != changes[i].first;
    if (settled && live > most) {
      most = live;
      when = changes[i].first;
    }
  }
  return when;
}

/// The items `kept` of the problem, in this order.
Problem part_of(const Problem& problem, const std::vector<std::uint32_t>& kept) {
  Problem part;
  part.period = problem.period;
  part.regions = problem.regions;
  std::vector<std::uint32_t> place(problem.items.size(), std::numeric_limits<std::uint32_t>::max());
  for (std::uint32_t item : kept) {
    place[item] = static_cast<std::uint32_t>(part.items.size());
    part.items.push_back(problem.items[item]);
  }
  for (Gap gap : problem.gaps) {
    gap.item = place[gap.item];
    if (gap.item < part.items.size()) part.gaps.push_back(gap);
  }
  return part;
}

/// Proved: the problem has no placement within the capacity.
bool impossible(const Problem& problem, Bytes capacity, const Limits& limits, WorkMeter& meter) {
  if (problem.items.empty() || !meter.spend(problem.items.size())) return false;
  if (lower_bound(problem) > capacity) return true;
  const std::vector<std::uint32_t> classes = stream_classes(problem);
  if (classes.size() != 1 || !problem.gaps.empty() || !problem.regions.empty()) return false;
  const Instance instance = build_instance(problem, classes.front(), {});
  if (instance.pieces.empty()) return false;
  if (clique_bound(instance) > capacity.value()) return true;
  if (!search::supports(instance, capacity.value())) return false;
  const Race alone{std::numeric_limits<std::uint32_t>::max()};
  WorkMeter own(limits, kShare, alone, 0);
  Draft draft;
  const auto outcome = search::search(instance, capacity.value(), {}, own, draft);
  meter.add(own);
  return outcome == search::Outcome::kInfeasible;
}

/// All items that occupy anything; those far from the fullest time last.
std::vector<std::uint32_t> by_distance(const Problem& problem) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    if (occupies(problem.items[i])) order.push_back(i);
  }
  if (order.empty()) return order;
  const std::uint64_t centre = fullest_time(problem, problem.items[order.front()].stream_class);
  const auto distance = [&](std::uint32_t i) {
    const Item& item = problem.items[i];
    if (centre < item.birth) return item.birth - centre;
    return centre < item.death ? std::uint64_t{0} : centre - item.death + 1;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return distance(a) < distance(b); });
  return order;
}

}  // namespace

std::vector<std::uint32_t> crowd(const Problem& problem, Bytes capacity) {
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    const Item& item = problem.items[i];
    if (item.size + Bytes(item.fixed ? item.fixed->value() : 0) > capacity) return {i};
  }
  std::vector<std::pair<std::uint64_t, std::uint32_t>> live;  // of the fullest times of all classes
  for (std::uint32_t stream_class : stream_classes(problem)) {
    const std::uint64_t when = fullest_time(problem, stream_class);
    std::size_t gap = 0;
    for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
      while (gap < problem.gaps.size() && problem.gaps[gap].item < i) ++gap;
      if (problem.items[i].stream_class != stream_class) continue;
      if (const std::uint64_t bytes = used_at(problem, i, gap, when); bytes != 0) live.emplace_back(bytes, i);
    }
  }
  std::sort(live.begin(), live.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::uint32_t> items;
  std::uint64_t sum = 0;
  for (const auto& [bytes, item] : live) {
    sum += bytes;
    items.push_back(item);
    if (sum <= capacity.value()) continue;
    std::sort(items.begin(), items.end());
    return items;
  }
  return {};
}

std::vector<std::uint32_t> explain(const Problem& problem, Bytes capacity, bool known, const Limits& limits,
                                   WorkMeter& meter) {
  if (std::vector<std::uint32_t> items = crowd(problem, capacity); !items.empty()) return items;
  std::vector<std::uint32_t> kept = by_distance(problem);
  if (!known && !impossible(part_of(problem, kept), capacity, limits, meter)) return {};
  for (std::size_t lot = std::max<std::size_t>(kept.size() / 2, 1); !meter.out(); lot = (lot + 1) / 2) {
    for (std::size_t end = kept.size(); end > 0 && !meter.out();) {
      const std::size_t begin = end - std::min(end, lot);
      std::vector<std::uint32_t> fewer(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(begin));
      fewer.insert(fewer.end(), kept.begin() + static_cast<std::ptrdiff_t>(end), kept.end());
      if (impossible(part_of(problem, fewer), capacity, limits, meter)) kept = std::move(fewer);
      end = begin;
    }
    if (lot == 1) break;
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace stowage::planner::placement
