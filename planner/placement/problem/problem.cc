#include "planner/placement/problem/problem.h"

#include <algorithm>
#include <set>
#include <utility>

namespace stowage::planner::placement {
namespace {

Error bad_item(std::size_t index, const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, "placement problem: item " + std::to_string(index) + " " + what +
                                                "; correct it and try again"};
}

Status check_item(const Problem& problem, std::size_t index) {
  const Item& item = problem.items[index];
  if (item.death < item.birth) return bad_item(index, "dies before it is born");
  if (item.alignment.value() == 0) return bad_item(index, "has alignment 0");
  if (item.fixed && item.fixed->value() % item.alignment.value() != 0) {
    return bad_item(index, "has a fixed offset that is not a multiple of its alignment");
  }
  if (problem.period == 0) return {};
  if (item.birth >= problem.period) return bad_item(index, "is born outside the period");
  if (item.death - item.birth > problem.period) return bad_item(index, "lives longer than the period");
  return {};
}

Status check_gap(const Problem& problem, std::size_t index) {
  const Gap& gap = problem.gaps[index];
  if (gap.item >= problem.items.size())
    return Error{ErrorCode::kInvalidArgument,
                 "placement problem: gap " + std::to_string(index) +
                     " is of an item that does not exist; correct it and try again"};
  const Item& item = problem.items[gap.item];
  if (gap.begin < item.birth || gap.begin >= gap.end || gap.end > item.death)
    return bad_item(gap.item, "has a gap outside its life");
  if (gap.lower > gap.upper || gap.upper > item.size)
    return bad_item(gap.item, "has a gap whose bytes are not its own");
  if (index == 0) return {};
  const Gap& before = problem.gaps[index - 1];
  if (before.item > gap.item || (before.item == gap.item && before.end > gap.begin))
    return bad_item(gap.item, "has gaps out of order");
  return {};
}

/// Adds with saturation just above the limit.
std::uint64_t add_capped(std::uint64_t a, std::uint64_t b) {
  return b > kMaxTotalBytes || a > kMaxTotalBytes ? kMaxTotalBytes + 1 : a + b;
}

}  // namespace

Status check_problem(const Problem& problem) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    if (Status status = check_item(problem, i); !status) return status;
    const Item& item = problem.items[i];
    total = add_capped(total, item.size.value());
    total = add_capped(total, item.alignment.value());
    if (item.fixed) total = add_capped(total, item.fixed->value());
    if (total > kMaxTotalBytes)
      return bad_item(i, "brings the sum of sizes, alignments and offsets beyond 2^62");
  }
  for (std::size_t g = 0; g < problem.gaps.size(); ++g) {
    if (Status status = check_gap(problem, g); !status) return status;
  }
  for (const Region& region : problem.regions) {
    total = add_capped(add_capped(total, region.begin.value()), region.size.value());
    if (total > kMaxTotalBytes)
      return Error{ErrorCode::kInvalidArgument,
                   "placement problem: a region brings the sum beyond 2^62; correct it and try again"};
  }
  return {};
}

namespace {

/// Notes `bytes` more during [begin, end) of the unwrapped axis.
void add_stretch(std::uint64_t begin, std::uint64_t end, std::int64_t bytes, std::uint64_t period,
                 LiveChanges& changes) {
  if (period != 0 && begin >= period) {
    begin -= period;
    end -= period;
  }
  if (period != 0 && end > period) {
    add_stretch(0, end - period, bytes, 0, changes);
    end = period;
  }
  changes.emplace_back(begin, bytes);
  changes.emplace_back(end, -bytes);
}

/// The most that the changes add up to. Those of one time count together: a gap that ends where another
/// begins is no peak. Times that lie close together are counted, others sorted.
std::int64_t peak_of(LiveChanges& changes) {
  constexpr std::uint64_t kSpread = 8;  // ticks for each change
  if (changes.empty()) return 0;
  std::uint64_t least = changes.front().first, most = least;
  for (const auto& [time, bytes] : changes) least = std::min(least, time), most = std::max(most, time);
  std::int64_t live = 0, peak = 0;
  if ((most - least) / kSpread < changes.size()) {
    std::vector<std::int64_t> at(most - least + 1, 0);
    for (const auto& [time, bytes] : changes) at[time - least] += bytes;
    for (std::int64_t bytes : at) peak = std::max(peak, live += bytes);
    return peak;
  }
  std::sort(changes.begin(), changes.end());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    live += changes[i].second;
    if (i + 1 == changes.size() || changes[i + 1].first != changes[i].first) peak = std::max(peak, live);
  }
  return peak;
}

}  // namespace

LiveChanges live_changes(const Problem& problem, std::uint32_t stream_class) {
  LiveChanges changes;
  for (const Item& item : problem.items) {
    if (item.stream_class != stream_class || !occupies(item)) continue;
    add_stretch(item.birth, item.death, static_cast<std::int64_t>(item.size.value()), problem.period,
                changes);
  }
  for (const Gap& gap : problem.gaps) {
    const Item& item = problem.items[gap.item];
    if (item.stream_class != stream_class || !occupies(item)) continue;
    const auto spared = static_cast<std::int64_t>((item.size - (gap.upper - gap.lower)).value());
    add_stretch(gap.begin, gap.end, -spared, problem.period, changes);
  }
  return changes;
}

Bytes max_live(const Problem& problem, std::uint32_t stream_class) {
  LiveChanges changes = live_changes(problem, stream_class);
  return Bytes(static_cast<std::uint64_t>(peak_of(changes)));
}

Bytes lower_bound(const Problem& problem) {
  Bytes sum{0};
  for (std::uint32_t stream_class : stream_classes(problem)) sum += max_live(problem, stream_class);
  for (const Item& item : problem.items) {
    sum = std::max(sum, item.size + Bytes(item.fixed ? item.fixed->value() : 0));
  }
  return sum;
}

Bytes height_of(const Problem& problem, const std::vector<Offset>& offsets) {
  Bytes height{0};
  for (std::size_t i = 0; i < offsets.size(); ++i)
    height = std::max(height, problem.items[i].size + Bytes(offsets[i].value()));
  return height;
}

std::vector<std::uint32_t> stream_classes(const Problem& problem) {
  std::set<std::uint32_t> classes;
  const Item* last = nullptr;
  for (const Item& item : problem.items) {
    if (last == nullptr || last->stream_class != item.stream_class) classes.insert(item.stream_class);
    last = &item;
  }
  return {classes.begin(), classes.end()};
}

}  // namespace stowage::planner::placement
