#include "planner/siblings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace stowage::planner {
namespace {

/// Entries of one kind in one plan, in order of birth.
using Kind = std::pair<std::uint64_t, std::uint32_t>;  // rounded bytes, stream
using Stock = std::map<Kind, std::vector<const PlanEntry*>>;

Kind kind_of(const PlanEntry& entry) { return {entry.rounded.value(), entry.stream.value()}; }

Stock stock_of(const Plan& plan) {
  Stock stock;
  for (const PlanEntry& entry : plan.entries) {
    if (entry.offset != kUpstream) stock[kind_of(entry)].push_back(&entry);
  }
  return stock;
}

/// The counterpart of the `nth` crossing entry of its kind.
const PlanEntry* counterpart(const std::vector<Stock>& stocks, const PlanEntry& entry, std::size_t nth,
                             bool two_slots) {
  for (const Stock& stock : stocks) {
    const auto found = stock.find(kind_of(entry));
    if (found == stock.end() || found->second.size() <= nth) continue;
    const PlanEntry* candidate = found->second[nth];
    if (!two_slots || candidate->spare != kUpstream) return candidate;
  }
  return nullptr;
}

}  // namespace

placement::Problem fix_by_siblings(const Lifetimes& lifetimes, const std::vector<const Plan*>& siblings) {
  placement::Problem problem = lifetimes.problem;
  std::vector<Stock> stocks;
  for (const Plan* sibling : siblings) stocks.push_back(stock_of(*sibling));
  std::map<Kind, std::size_t> seen;
  std::vector<const PlanEntry*> matched(lifetimes.entries.size(), nullptr);
  for (std::size_t e = 0; e < lifetimes.entries.size(); ++e) {
    const LifeClass life = lifetimes.classes[e];
    if (life != LifeClass::kCyclic && life != LifeClass::kTwoSlots) continue;
    const PlanEntry& entry = lifetimes.entries[e];
    matched[e] = counterpart(stocks, entry, seen[kind_of(entry)]++, life == LifeClass::kTwoSlots);
  }
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const Slot slot = lifetimes.slots[i];
    if (matched[slot.entry] == nullptr) continue;
    problem.items[i].fixed = slot.spare ? matched[slot.entry]->spare : matched[slot.entry]->offset;
  }
  return problem;
}

bool has_fixed(const placement::Problem& problem) {
  return std::any_of(problem.items.begin(), problem.items.end(),
                     [](const placement::Item& item) { return item.fixed.has_value(); });
}

}  // namespace stowage::planner
