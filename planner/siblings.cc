#include "planner/siblings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace stowage::planner {
namespace {

/// Entries of one kind in one plan, in order of birth.
using Kind = std::tuple<std::uint64_t, std::uint32_t, bool>;  // rounded bytes, stream, two slots
using Stock = std::map<Kind, std::vector<const PlanEntry*>>;

Kind kind_of(const PlanEntry& entry, bool two_slots) {
  return {entry.rounded.value(), entry.stream.value(), two_slots};
}

Stock stock_of(const Plan& plan) {
  Stock stock;
  for (const PlanEntry& entry : plan.entries) {
    if (entry.offset != kUpstream) stock[kind_of(entry, entry.spare != kUpstream)].push_back(&entry);
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

}  // namespace

placement::Problem fix_by_siblings(const Lifetimes& lifetimes, const std::vector<const Plan*>& siblings,
                                   Keep keep) {
  placement::Problem problem = lifetimes.problem;
  std::vector<Stock> stocks;
  for (const Plan* sibling : siblings) stocks.push_back(stock_of(*sibling));
  std::map<Kind, std::size_t> seen;
  std::vector<const PlanEntry*> matched(lifetimes.entries.size(), nullptr);
  for (std::size_t e = 0; e < lifetimes.entries.size(); ++e) {
    const LifeClass life = lifetimes.classes[e];
    if (life != LifeClass::kCyclic && life != LifeClass::kTwoSlots) continue;
    const Kind kind = kind_of(lifetimes.entries[e], life == LifeClass::kTwoSlots);
    matched[e] = counterpart(stocks, kind, seen[kind]++);
  }
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const Slot slot = lifetimes.slots[i];
    if (matched[slot.entry] == nullptr) continue;
    const bool whole = problem.items[i].death - problem.items[i].birth == problem.period;
    if (keep == Keep::kWholePeriod && !whole) continue;
    problem.items[i].fixed = slot.spare ? matched[slot.entry]->spare : matched[slot.entry]->offset;
  }
  return problem;
}

bool has_fixed(const placement::Problem& problem) {
  return std::any_of(problem.items.begin(), problem.items.end(),
                     [](const placement::Item& item) { return item.fixed.has_value(); });
}

}  // namespace stowage::planner
