#include "planner/placement/validator.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

/// The problem's own sense: every gap within its item's life and bytes, by item and time.
Status check_gaps(const Problem& problem) {
  for (std::size_t g = 0; g < problem.gaps.size(); ++g) {
    const Gap& gap = problem.gaps[g];
    if (gap.item >= problem.items.size())
      return rejected("a gap is of " + name(gap.item) + ", which is none");
    const Item& item = problem.items[gap.item];
    const bool in_life = item.birth <= gap.begin && gap.begin < gap.end && gap.end <= item.death;
    if (!in_life || gap.lower > gap.upper || gap.upper > item.size)
      return rejected(name(gap.item) + " has a gap outside its life or its bytes");
    if (g == 0 || problem.gaps[g - 1].item < gap.item) continue;
    if (problem.gaps[g - 1].item > gap.item || problem.gaps[g - 1].end > gap.begin)
      return rejected(name(gap.item) + " has gaps out of order");
  }
  return {};
}

/// Addresses [low, high) that begin or end to be in use at a time. Ends sort before begins, since stretches
/// are half-open.
struct Event {
  std::uint64_t time;
  bool begins;
  std::size_t item;
  std::uint64_t low, high;
  friend bool operator<(const Event& a, const Event& b) {
    return std::tie(a.time, a.begins, a.item) < std::tie(b.time, b.begins, b.item);
  }
};

/// Notes that `item` uses its bytes [lower, upper) during [from, to) of the unwrapped axis.
void add_use(const Problem& problem, const Solution& solution, std::size_t item, std::uint64_t from,
             std::uint64_t to, std::uint64_t lower, std::uint64_t upper, std::vector<Event>& events) {
  if (from >= to || lower >= upper) return;
  const std::uint64_t base = solution.offsets[item].value();
  const auto add = [&](std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return;
    events.push_back({begin, true, item, base + lower, base + upper});
    events.push_back({end, false, item, base + lower, base + upper});
  };
  const std::uint64_t period = problem.period;
  if (period == 0 || to <= period) {
    add(from, to);
  } else if (from >= period) {
    add(from - period, to - period);
  } else {
    add(from, period);
    add(0, to - period);
  }
}

/// Each item's life cut at its gaps.
std::vector<Event> events_of(const Problem& problem, const Solution& solution) {
  std::vector<Event> events;
  events.reserve(2 * problem.items.size() + 4 * problem.gaps.size());
  std::size_t g = 0;
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const Item& item = problem.items[i];
    std::uint64_t from = item.birth;
    for (; g < problem.gaps.size() && problem.gaps[g].item == i; ++g) {
      const Gap& gap = problem.gaps[g];
      add_use(problem, solution, i, from, gap.begin, 0, item.size.value(), events);
      add_use(problem, solution, i, gap.begin, gap.end, gap.lower.value(), gap.upper.value(), events);
      from = gap.end;
    }
    add_use(problem, solution, i, from, item.death, 0, item.size.value(), events);
  }
  std::sort(events.begin(), events.end());
  return events;
}

/// Keeps the addresses in use, disjoint, by where they begin; each newcomer is compared with its two
/// neighbours.
Status sweep_time(const std::vector<Event>& events) {
  struct Use {
    std::uint64_t high;
    std::size_t item;
  };
  std::map<std::uint64_t, Use> live;
  const auto shared = [](const Event& event, std::size_t other) {
    return rejected(name(event.item) + " and " + name(other) + " share bytes at time " +
                    std::to_string(event.time));
  };
  for (const Event& event : events) {
    if (!event.begins) {
      live.erase(event.low);
      continue;
    }
    const auto above = live.lower_bound(event.low);
    if (above != live.end() && above->first < event.high) return shared(event, above->second.item);
    if (above != live.begin() && std::prev(above)->second.high > event.low)
      return shared(event, std::prev(above)->second.item);
    live.emplace_hint(above, event.low, Use{event.high, event.item});
  }
  return {};
}

/// What is used at any time, lowest first.
std::vector<Event> uses_by_address(std::vector<Event> events) {
  events.erase(std::remove_if(events.begin(), events.end(), [](const Event& event) { return !event.begins; }),
               events.end());
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.low < b.low; });
  return events;
}

/// Sweeps addresses upwards, keeping the use that reaches highest so far.
Status sweep_addresses(const Problem& problem, const std::vector<Event>& uses) {
  const Event* highest = nullptr;
  for (const Event& use : uses) {
    // As long as no two classes met, all that ends above this address is of one class, that of `highest`.
    if (highest != nullptr && use.low < highest->high &&
        problem.items[use.item].stream_class != problem.items[highest->item].stream_class) {
      return rejected(name(use.item) + " and " + name(highest->item) +
                      " share addresses and are of different streams");
    }
    if (highest == nullptr || use.high > highest->high) highest = &use;
  }
  return {};
}

/// No item within addresses of another class.
Status check_regions(const Problem& problem, const std::vector<Event>& uses) {
  for (const Region& region : problem.regions) {
    const std::uint64_t begin = region.begin.value(), end = begin + region.size.value();
    for (const Event& use : uses) {
      if (problem.items[use.item].stream_class != region.stream_class && use.low < end && begin < use.high)
        return rejected(name(use.item) + " lies in a region of another stream");
    }
  }
  return {};
}

}  // namespace

Status validate_placement(const Problem& problem, const Solution& solution) {
  if (solution.offsets.size() != problem.items.size())
    return rejected("it has offsets for another number of items");
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    if (Status status = check_alone(problem, solution, i); !status) return status;
  }
  if (Status status = check_gaps(problem); !status) return status;
  if (Status status = check_height(problem, solution); !status) return status;
  std::vector<Event> events = events_of(problem, solution);
  if (Status status = sweep_time(events); !status) return status;
  const std::vector<Event> uses = uses_by_address(std::move(events));
  if (Status status = sweep_addresses(problem, uses); !status) return status;
  return check_regions(problem, uses);
}

Status validate(const Problem& problem, const Solution& solution) {
  if (problem.capacity && solution.height > *problem.capacity) {
    return rejected("the height of " + std::to_string(solution.height.value()) +
                    " is above the capacity of " + std::to_string(problem.capacity->value()));
  }
  return validate_placement(problem, solution);
}

}  // namespace stowage::planner::placement
