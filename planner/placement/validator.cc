#include "planner/placement/validator.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace stowage::planner::placement {
namespace {

Error rejected(const std::string& what) {
  return Error{ErrorCode::kInvalidPlan, "placement rejected: " + what + "; it must not be used"};
}

std::string name(std::size_t item) { return "item " + std::to_string(item); }

/// Alignment, fixed offset, and room below 2^63 for the arithmetic that follows.
Status check_alone(const Problem& problem, const Solution& solution, std::size_t i) {
  const Item& item = problem.items[i];
  const std::uint64_t offset = solution.offsets[i].value();
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 62;
  if (offset > kLimit || item.size.value() > kLimit) return rejected(name(i) + " ends beyond 2^62");
  if (item.alignment.value() == 0 || offset % item.alignment.value() != 0)
    return rejected(name(i) + " is misaligned");
  if (item.fixed && *item.fixed != solution.offsets[i])
    return rejected(name(i) + " is not at its fixed offset");
  if (item.death < item.birth) return rejected(name(i) + " dies before it is born");
  if (problem.period == 0) return {};
  if (item.birth >= problem.period || item.death - item.birth > problem.period) {
    return rejected(name(i) + " does not fit the period");
  }
  return {};
}

Status check_height(const Problem& problem, const Solution& solution) {
  std::uint64_t top = 0;
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    top = std::max(top, solution.offsets[i].value() + problem.items[i].size.value());
  }
  if (top != solution.height.value()) {
    return rejected("the height is said to be " + std::to_string(solution.height.value()) + " and is " +
                    std::to_string(top));
  }
  if (solution.lower_bound > solution.height) return rejected("the lower bound is above the height");
  if (solution.proved_optimal && solution.lower_bound != solution.height)
    return rejected("the proof does not hold");
  return {};
}

/// What begins or ends at a time. Ends sort before begins, since lifetimes are half-open.
struct Event {
  std::uint64_t time;
  bool begins;
  std::size_t item;
  friend bool operator<(const Event& a, const Event& b) {
    return std::tie(a.time, a.begins, a.item) < std::tie(b.time, b.begins, b.item);
  }
};

std::vector<Event> events_of(const Problem& problem) {
  std::vector<Event> events;
  const auto add = [&](std::uint64_t from, std::uint64_t to, std::size_t item) {
    if (from == to) return;
    events.push_back({from, true, item});
    events.push_back({to, false, item});
  };
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const Item& item = problem.items[i];
    if (item.size.value() == 0) continue;
    if (problem.period != 0 && item.death > problem.period) {
      add(item.birth, problem.period, i);
      add(0, item.death - problem.period, i);
    } else {
      add(item.birth, item.death, i);
    }
  }
  std::sort(events.begin(), events.end());
  return events;
}

/// Keeps the live items by offset; each newcomer is compared with its two neighbours.
Status sweep_time(const Problem& problem, const Solution& solution) {
  std::map<std::uint64_t, std::size_t> live;
  for (const Event& event : events_of(problem)) {
    const std::uint64_t offset = solution.offsets[event.item].value();
    if (!event.begins) {
      live.erase(offset);
      continue;
    }
    const auto above = live.lower_bound(offset);
    if (above != live.end() && above->first < offset + problem.items[event.item].size.value()) {
      return rejected(name(event.item) + " and " + name(above->second) + " share bytes at time " +
                      std::to_string(event.time));
    }
    if (above != live.begin()) {
      const auto below = std::prev(above);
      if (below->first + problem.items[below->second].size.value() > offset) {
        return rejected(name(event.item) + " and " + name(below->second) + " share bytes at time " +
                        std::to_string(event.time));
      }
    }
    live.emplace(offset, event.item);
  }
  return {};
}

/// Sweeps addresses upwards, keeping for the class that reaches highest so far, and for any other class, the
/// highest end.
Status sweep_addresses(const Problem& problem, const Solution& solution) {
  std::vector<std::size_t> items;
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    if (problem.items[i].size.value() != 0 && problem.items[i].birth != problem.items[i].death)
      items.push_back(i);
  }
  std::sort(items.begin(), items.end(),
            [&](std::size_t a, std::size_t b) { return solution.offsets[a] < solution.offsets[b]; });
  std::size_t highest = 0;  // item whose end is the highest so far
  std::uint64_t end = 0;
  for (std::size_t i : items) {
    // As long as no two classes met, all that ends above this offset is of one class, that of `highest`.
    if (solution.offsets[i].value() < end &&
        problem.items[i].stream_class != problem.items[highest].stream_class) {
      return rejected(name(i) + " and " + name(highest) + " share addresses and are of different streams");
    }
    const std::uint64_t own_end = solution.offsets[i].value() + problem.items[i].size.value();
    if (own_end > end) {
      end = own_end;
      highest = i;
    }
  }
  return {};
}

/// No item within addresses of another class.
Status check_regions(const Problem& problem, const Solution& solution) {
  for (const Region& region : problem.regions) {
    const std::uint64_t begin = region.begin.value(), end = begin + region.size.value();
    for (std::size_t i = 0; i < problem.items.size(); ++i) {
      const Item& item = problem.items[i];
      if (item.stream_class == region.stream_class || item.size.value() == 0 || item.birth == item.death)
        continue;
      const std::uint64_t offset = solution.offsets[i].value();
      if (offset < end && begin < offset + item.size.value())
        return rejected(name(i) + " lies in a region of another stream");
    }
  }
  return {};
}

}  // namespace

Status validate(const Problem& problem, const Solution& solution) {
  if (solution.offsets.size() != problem.items.size())
    return rejected("it has offsets for another number of items");
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    if (Status status = check_alone(problem, solution, i); !status) return status;
  }
  if (Status status = check_height(problem, solution); !status) return status;
  if (Status status = sweep_time(problem, solution); !status) return status;
  if (Status status = sweep_addresses(problem, solution); !status) return status;
  return check_regions(problem, solution);
}

}  // namespace stowage::planner::placement
