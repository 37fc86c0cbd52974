#include "planner/siblings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace stowage::planner {
namespace {

using placement::Item;
using placement::Problem;

/// Entries of one kind in one plan, in order of birth.
using Kind = std::tuple<std::uint64_t, std::uint32_t, bool>;  // rounded bytes, stream, two slots
using Stock = std::map<Kind, std::vector<const PlanEntry*>>;
using Matches = std::vector<const PlanEntry*>;  // by entry of the new plan; null: none

constexpr std::size_t kMostAlike = 20'000;  // entries up to which kAlike is worth its n^2

Stock crossing_stock(const Plan& plan) {
  Stock stock;
  for (const PlanEntry& entry : plan.entries) {
    if (!entry.crosses || entry.offset == kUpstream) continue;
    stock[{entry.rounded.value(), entry.stream.value(), entry.spare != kUpstream}].push_back(&entry);
  }
  return stock;
}

/// The `nth` entry of its kind in the first sibling that has so many.
const PlanEntry* counterpart(const std::vector<Stock>& stocks, const Kind& kind, std::size_t nth) {
  for (const Stock& stock : stocks) {
    const auto found = stock.find(kind);
    if (found != stock.end() && found->second.size() > nth) return found->second[nth];
  }
  return nullptr;
}

Matches match_crossing(const Lifetimes& lifetimes, const std::vector<const Plan*>& siblings) {
  std::vector<Stock> stocks;
  stocks.reserve(siblings.size());
  for (const Plan* sibling : siblings) stocks.push_back(crossing_stock(*sibling));
  std::map<Kind, std::size_t> seen;
  Matches matched(lifetimes.entries.size(), nullptr);
  for (std::size_t e = 0; e < matched.size(); ++e) {
    const PlanEntry& entry = lifetimes.entries[e];
    if (!entry.crosses || lifetimes.classes[e] == LifeClass::kUpstream) continue;
    const Kind kind{entry.rounded.value(), entry.stream.value(),
                    lifetimes.classes[e] == LifeClass::kTwoSlots};
    matched[e] = counterpart(stocks, kind, seen[kind]++);
  }
  return matched;
}

bool alike(const PlanEntry& a, const PlanEntry& b) { return a.rounded == b.rounded && a.stream == b.stream; }

/// The entries of the longest common end, then of the longest common beginning of what is left.
Matches match_ends(const std::vector<PlanEntry>& mine, const std::vector<PlanEntry>& theirs,
                   std::size_t& count) {
  Matches matched(mine.size(), nullptr);
  const std::size_t most = std::min(mine.size(), theirs.size());
  std::size_t end = 0, begin = 0;
  while (end < most && alike(mine[mine.size() - 1 - end], theirs[theirs.size() - 1 - end])) {
    matched[mine.size() - 1 - end] = &theirs[theirs.size() - 1 - end];
    ++end;
  }
  for (; begin < most - end && alike(mine[begin], theirs[begin]); ++begin) matched[begin] = &theirs[begin];
  count = end + begin;
  return matched;
}

Matches match_alike(const Lifetimes& lifetimes, const std::vector<const Plan*>& siblings) {
  Matches best(lifetimes.entries.size(), nullptr);
  std::size_t most = 0;
  for (const Plan* sibling : siblings) {
    std::size_t count = 0;
    Matches matched = match_ends(lifetimes.entries, sibling->entries, count);
    if (count <= most) continue;
    most = count;
    best = std::move(matched);
  }
  return best;
}

std::optional<Offset> offset_for(const Slot& slot, const PlanEntry* match, LifeClass life) {
  if (match == nullptr || match->offset == kUpstream) return std::nullopt;
  if ((match->spare != kUpstream) != (life == LifeClass::kTwoSlots)) return std::nullopt;
  return slot.spare ? match->spare : match->offset;
}

/// Both lifetimes are at most a period long, and births lie within it.
bool meet_in_time(const Item& a, const Item& b, std::uint64_t period) {
  if (a.birth == a.death || b.birth == b.death) return false;
  const auto meets = [&](std::uint64_t shift_a, std::uint64_t shift_b) {
    return a.birth + shift_a < b.death + shift_b && b.birth + shift_b < a.death + shift_a;
  };
  return meets(0, 0) || meets(period, 0) || meets(0, period);
}

bool collides(const Problem& problem, const Item& item, Offset offset,
              const std::vector<std::size_t>& fixed) {
  return std::any_of(fixed.begin(), fixed.end(), [&](std::size_t index) {
    const Item& other = problem.items[index];
    return offset < *other.fixed + other.size && *other.fixed < offset + item.size &&
           (other.stream_class != item.stream_class || meet_in_time(item, other, problem.period));
  });
}

void fix_alike(const Lifetimes& lifetimes, const std::vector<const Plan*>& siblings, Problem& problem) {
  if (problem.items.size() > kMostAlike) return;
  const Matches matched = match_alike(lifetimes, siblings);
  std::vector<std::size_t> fixed;
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    if (problem.items[i].fixed) fixed.push_back(i);
  }
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    Item& item = problem.items[i];
    const Slot slot = lifetimes.slots[i];
    if (item.fixed) continue;
    const auto offset = offset_for(slot, matched[slot.entry], lifetimes.classes[slot.entry]);
    if (!offset || collides(problem, item, *offset, fixed)) continue;
    item.fixed = offset;
    fixed.push_back(i);
  }
}

/// Where a stream's entries lie, in all siblings together, as few regions as that takes.
void add_regions(const std::vector<const Plan*>& siblings, Problem& problem) {
  std::map<std::uint32_t, std::vector<std::pair<Offset, Offset>>> ranges;
  for (const Plan* sibling : siblings) {
    for (const PlanEntry& entry : sibling->entries) {
      for (const Offset offset : {entry.offset, entry.spare}) {
        if (offset != kUpstream) ranges[entry.stream.value()].emplace_back(offset, offset + entry.rounded);
      }
    }
  }
  for (auto& [stream, of_stream] : ranges) {
    std::sort(of_stream.begin(), of_stream.end());
    std::optional<Offset> end;
    for (const auto& [from, to] : of_stream) {
      if (!end || from > *end) {
        problem.regions.push_back({stream, from, to - from});
      } else if (to > *end) {
        problem.regions.back().size = to - problem.regions.back().begin;
      }
      end = end ? std::max(*end, to) : to;
    }
  }
}

}  // namespace

Problem fix_by_siblings(const Lifetimes& lifetimes, const std::vector<const Plan*>& siblings, Keep keep) {
  Problem problem = lifetimes.problem;
  add_regions(siblings, problem);
  if (keep == Keep::kNone) return problem;
  const Matches matched = match_crossing(lifetimes, siblings);
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    Item& item = problem.items[i];
    const Slot slot = lifetimes.slots[i];
    const bool whole = item.death - item.birth == problem.period;
    if (keep == Keep::kWholePeriod && !whole) continue;
    item.fixed = offset_for(slot, matched[slot.entry], lifetimes.classes[slot.entry]);
  }
  if (keep == Keep::kAlike) fix_alike(lifetimes, siblings, problem);
  return problem;
}

bool has_fixed(const Problem& problem) {
  return std::any_of(problem.items.begin(), problem.items.end(),
                     [](const Item& item) { return item.fixed.has_value(); });
}

}  // namespace stowage::planner
