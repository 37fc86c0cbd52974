#include "planner/placement/problem.h"

#include <algorithm>
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
  for (const Region& region : problem.regions) {
    total = add_capped(add_capped(total, region.begin.value()), region.size.value());
    if (total > kMaxTotalBytes)
      return Error{ErrorCode::kInvalidArgument,
                   "placement problem: a region brings the sum beyond 2^62; correct it and try again"};
  }
  return {};
}

Bytes max_live(const Problem& problem, std::uint32_t stream_class) {
  // (time, change) sorted so that at one time the deaths (negative) come before the births.
  std::vector<std::pair<std::uint64_t, std::int64_t>> events;
  std::int64_t live = 0;
  for (const Item& item : problem.items) {
    if (item.stream_class != stream_class || item.size.value() == 0 || item.birth == item.death) continue;
    const auto bytes = static_cast<std::int64_t>(item.size.value());
    events.emplace_back(item.birth, bytes);
    if (problem.period != 0 && item.death > problem.period) {
      live += bytes;
      events.emplace_back(item.death - problem.period, -bytes);
    } else {
      events.emplace_back(item.death, -bytes);
    }
  }
  std::sort(events.begin(), events.end());
  std::int64_t peak = live;
  for (const auto& [time, change] : events) peak = std::max(peak, live += change);
  return Bytes(static_cast<std::uint64_t>(peak));
}

Bytes lower_bound(const Problem& problem) {
  Bytes sum{0};
  for (std::uint32_t stream_class : stream_classes(problem)) sum += max_live(problem, stream_class);
  for (const Item& item : problem.items) {
    sum = std::max(sum, item.size + Bytes(item.fixed ? item.fixed->value() : 0));
  }
  return sum;
}

std::vector<std::uint32_t> stream_classes(const Problem& problem) {
  std::vector<std::uint32_t> classes;
  for (const Item& item : problem.items) {
    if (classes.empty() || classes.back() != item.stream_class) classes.push_back(item.stream_class);
  }
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  return classes;
}

}  // namespace stowage::planner::placement
