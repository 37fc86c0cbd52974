#include "planner/placement/problem/validator.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/placement/problem/long_sort.h"
#include "planner/placement/problem/stretches.h"

namespace stowage::planner::placement {
namespace {

Error rejected(const std::string& what) {
  return Error{ErrorCode::kInvalidPlan, "placement rejected: " + what + "; it must not be used"};
}

Error cancelled() { return Error{ErrorCode::kCancelled, "placement was cancelled"}; }

/// Events between two looks at the stop.
constexpr std::size_t kLookEvery = 1u << 14;

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

Status check_height(const Problem& problem, const Solution& solution, const Limits& limits) {
  std::uint64_t top = 0;
  const auto raise = [&](std::size_t i) {
    top = std::max(top, solution.offsets[i].value() + problem.items[i].size.value());
  };
  if (!in_stretches(
          problem.items.size(), [&] { return limits.stopped(); }, raise))
    return cancelled();
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

/// An item uses the addresses [low, high) during [begin, end).
struct Use {
  std::uint64_t low, high;
  std::uint64_t begin, end;
  std::size_t item;
};

/// A use begins or ends: twice its index, and one more if it begins.
using Event = std::uint32_t;

bool begins(Event event) { return event % 2 != 0; }

std::uint64_t time_of(const std::vector<Use>& uses, Event event) {
  const Use& use = uses[event / 2];
  return begins(event) ? use.begin : use.end;
}

/// Notes that `item` uses its bytes [lower, upper) during [from, to) of the unwrapped axis.
void add_use(const Problem& problem, const Solution& solution, std::size_t item, std::uint64_t from,
             std::uint64_t to, std::uint64_t lower, std::uint64_t upper, std::vector<Use>& uses) {
  if (from >= to || lower >= upper) return;
  const std::uint64_t base = solution.offsets[item].value();
  const auto add = [&](std::uint64_t begin, std::uint64_t end) {
    if (begin != end) uses.push_back({base + lower, base + upper, begin, end, item});
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

/// All that is used: each item's life cut at its gaps.
Status take_account(const Problem& problem, const Solution& solution, const Limits& limits,
                    std::vector<Use>& uses) {
  const std::size_t most = 2 * (problem.items.size() + 2 * problem.gaps.size());
  if (most > std::numeric_limits<Event>::max() / 2) return rejected("it has too many items");
  uses.reserve(problem.period == 0 ? most / 2 : most);  // growing would copy all of them at once
  std::size_t g = 0;
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    if (i % kLookEvery == 0 && limits.stopped()) return cancelled();
    const Item& item = problem.items[i];
    std::uint64_t from = item.birth;
    for (; g < problem.gaps.size() && problem.gaps[g].item == i; ++g) {
      const Gap& gap = problem.gaps[g];
      add_use(problem, solution, i, from, gap.begin, 0, item.size.value(), uses);
      add_use(problem, solution, i, gap.begin, gap.end, gap.lower.value(), gap.upper.value(), uses);
      from = gap.end;
    }
    add_use(problem, solution, i, from, item.death, 0, item.size.value(), uses);
  }
  return {};
}

/// The events of times that lie close together, counted; empty after a stop. Requires: uses, all of whose
/// times lie in [origin, origin + length].
std::vector<Event> counted_events(const std::vector<Use>& uses, std::uint64_t origin, std::uint64_t length,
                                  const Limits& limits) {
  const auto stopped = [&] { return limits.stopped(); };
  const auto slot = [&](Event event) {
    return 2 * (time_of(uses, event) - origin) + (begins(event) ? 1 : 0);
  };
  const std::size_t slots = 2 * length + 3, count = 2 * uses.size();
  std::vector<Event> from, events;  // ends of a time, then its begins
  const auto tally = [&](std::size_t event) { ++from[slot(static_cast<Event>(event)) + 1]; };
  const auto add_up = [&](std::size_t i) { from[i + 1] += from[i]; };
  const auto move = [&](std::size_t event) {
    events[from[slot(static_cast<Event>(event))]++] = static_cast<Event>(event);
  };
  const bool done = zeroed_in_stretches(from, slots, stopped) && in_stretches(count, stopped, tally) &&
                    in_stretches(slots - 1, stopped, add_up) && zeroed_in_stretches(events, count, stopped) &&
                    in_stretches(count, stopped, move);
  if (!done) events.clear();
  return events;
}

/// All events in order of time, ends before begins, since stretches are half-open; empty after a stop.
std::vector<Event> events_of(const std::vector<Use>& uses, const Limits& limits) {
  constexpr std::uint64_t kSpread = 4;  // ticks for each use, up to which counting is the cheaper
  if (uses.empty()) return {};
  std::uint64_t least = uses.front().begin, most = least;
  const auto stopped = [&] { return limits.stopped(); };
  const auto widen = [&](std::size_t i) {
    least = std::min(least, uses[i].begin);
    most = std::max(most, uses[i].end);
  };
  if (!in_stretches(uses.size(), stopped, widen)) return {};
  if ((most - least) / kSpread < uses.size()) return counted_events(uses, least, most - least, limits);
  std::vector<Event> events(2 * uses.size());
  std::iota(events.begin(), events.end(), Event{0});
  const auto before = [&uses](Event a, Event b) {
    return std::tuple(time_of(uses, a), begins(a), a) < std::tuple(time_of(uses, b), begins(b), b);
  };
  if (!sort_unless(events, before, stopped)) return {};
  return events;
}

/// Keeps the addresses in use, disjoint, by where they begin; each newcomer is compared with its two
/// neighbours.
Status sweep_time(const std::vector<Use>& uses, const Limits& limits) {
  const std::vector<Event> events = events_of(uses, limits);
  if (events.size() != 2 * uses.size()) return cancelled();
  std::map<std::uint64_t, const Use*> live;
  std::size_t seen = 0;
  for (Event event : events) {
    if (seen++ % kLookEvery == 0 && limits.stopped()) return cancelled();
    const Use& use = uses[event / 2];
    if (!begins(event)) {
      live.erase(use.low);
      continue;
    }
    const auto shared = [&](const Use& other) {
      return rejected(name(use.item) + " and " + name(other.item) + " share bytes at time " +
                      std::to_string(use.begin));
    };
    const auto above = live.lower_bound(use.low);
    if (above != live.end() && above->first < use.high) return shared(*above->second);
    if (above != live.begin() && std::prev(above)->second->high > use.low)
      return shared(*std::prev(above)->second);
    live.emplace_hint(above, use.low, &use);
  }
  return {};
}

/// Sweeps addresses upwards, keeping the use that reaches highest so far. Requires: uses are in order.
Status sweep_addresses(const Problem& problem, const std::vector<Use>& uses) {
  const Use* highest = nullptr;
  for (const Use& use : uses) {
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

/// True if anything is told apart by stream class.
bool has_streams(const Problem& problem) {
  const auto other = [&](const Item& item) { return item.stream_class != problem.items[0].stream_class; };
  return !problem.regions.empty() || std::any_of(problem.items.begin(), problem.items.end(), other);
}

/// No item within addresses of another class.
Status check_regions(const Problem& problem, const std::vector<Use>& uses) {
  for (const Region& region : problem.regions) {
    const std::uint64_t begin = region.begin.value(), end = begin + region.size.value();
    for (const Use& use : uses) {
      if (problem.items[use.item].stream_class != region.stream_class && use.low < end && begin < use.high)
        return rejected(name(use.item) + " lies in a region of another stream");
    }
  }
  return {};
}

}  // namespace

Status validate_placement(const Problem& problem, const Solution& solution, const Limits& limits) {
  if (limits.stopped()) return cancelled();
  if (solution.offsets.size() != problem.items.size())
    return rejected("it has offsets for another number of items");
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    if (i % kStretchLength == 0 && limits.stopped()) return cancelled();
    if (Status status = check_alone(problem, solution, i); !status) return status;
  }
  if (Status status = check_gaps(problem); !status) return status;
  if (Status status = check_height(problem, solution, limits); !status) return status;
  const auto stopped = [&] { return limits.stopped(); };
  std::vector<Use> uses;
  if (Status status = take_account(problem, solution, limits, uses); !status) return status;
  if (Status status = sweep_time(uses, limits); !status) return status;
  if (!has_streams(problem)) return {};
  const auto lower = [](const Use& a, const Use& b) { return a.low < b.low; };
  if (!sort_unless(uses, lower, stopped)) return cancelled();
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
