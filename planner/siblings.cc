#include "planner/siblings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "planner/placement/instance/instance.h"
#include "planner/placement/instance/overlap.h"

namespace stowage::planner {
namespace {

using placement::Claim;
using placement::Instance;
using placement::Item;
using placement::Piece;
using placement::Problem;

/// Entries of one kind in one plan, in order of birth.
using Kind = std::tuple<std::uint64_t, std::uint32_t, bool>;  // rounded bytes, stream, two slots
using Stock = std::map<Kind, std::vector<const PlanEntry*>>;
using Matches = std::vector<const PlanEntry*>;  // by entry of the new plan; null: none

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

/// By item: where it lies, if it is to lie somewhere.
using Places = std::vector<std::optional<Offset>>;

/// Where the items of one stream would be, as claims; what is fixed is firm, and what others hold is held at
/// all times.
std::vector<Claim> claims_of(const Problem& problem, const Places& places, std::uint32_t stream) {
  Problem loose = problem;
  for (Item& item : loose.items) item.fixed.reset();
  const Instance instance = build_instance(loose, stream, {});
  std::vector<Claim> claims;
  for (const Piece& piece : instance.pieces) {
    if (!places[piece.item]) continue;
    const std::uint64_t low = places[piece.item]->value(), high = low + piece.size;
    const bool firm = problem.items[piece.item].fixed.has_value();
    claims.push_back({piece.life.begin, piece.life.end, {low, high}, piece.item, firm});
    claims.push_back({0, piece.life.wrapped_end, {low, high}, piece.item, firm});
  }
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    const Item& item = problem.items[i];
    if (item.stream_class == stream || !item.fixed || !occupies(item)) continue;
    const std::uint64_t low = item.fixed->value();
    claims.push_back({0, instance.ranks, {low, low + item.size.value()}, i, true});
  }
  return claims;
}

void fix_alike(const Lifetimes& lifetimes, const std::vector<const Plan*>& siblings, Problem& problem) {
  const Matches matched = match_alike(lifetimes, siblings);
  Places places(problem.items.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Slot slot = lifetimes.slots[i];
    places[i] = problem.items[i].fixed;
    if (!places[i]) places[i] = offset_for(slot, matched[slot.entry], lifetimes.classes[slot.entry]);
  }
  for (std::uint32_t stream : stream_classes(problem)) {
    for (std::uint32_t i : giving_way(claims_of(problem, places, stream)))
      places[i] = problem.items[i].fixed;  // what is fixed already may only be said to give way to its like
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (problem.items[i].stream_class == stream) problem.items[i].fixed = places[i];
    }
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
