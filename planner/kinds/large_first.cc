#include "planner/kinds/large_first.h"

#include <algorithm>
#include <bit>

namespace stowage::planner {
namespace {

using placement::Item;
using placement::Problem;

constexpr std::uint64_t kSharesOfLoss = 200;  // 1/this of the bound
constexpr std::uint64_t kLeast = 1024;        // bytes of a large buffer

bool is_large(const Item& item, std::uint64_t least) { return item.fixed || item.size.value() >= least; }

/// The items that are large, or those that are not.
LargePart part_of(const Problem& problem, std::uint64_t least, bool large) {
  LargePart part;
  part.problem.period = problem.period;
  part.problem.regions = problem.regions;
  auto gap = problem.gaps.begin();
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    const bool taken = is_large(problem.items[i], least) == large;
    for (; gap != problem.gaps.end() && gap->item == i; ++gap) {
      if (!taken) continue;
      part.problem.gaps.push_back(*gap);
      part.problem.gaps.back().item = static_cast<std::uint32_t>(part.items.size());
    }
    if (!taken) continue;
    part.problem.items.push_back(problem.items[i]);
    part.items.push_back(i);
  }
  part.bound = placement::lower_bound(part.problem);
  return part;
}

}  // namespace

std::optional<LargePart> large_part(const Problem& problem, Bytes bound) {
  std::uint64_t most = 0;
  for (const Item& item : problem.items) most = std::max(most, item.fixed ? 0 : item.size.value());
  const Bytes enough = bound + Bytes(bound.value() / kSharesOfLoss);
  for (std::uint64_t least = std::bit_floor(most); least >= kLeast; least /= 2) {
    LargePart large = part_of(problem, least, true);
    if (large.bound > enough) continue;
    const LargePart rest = part_of(problem, least, false);
    if (rest.items.empty()) return std::nullopt;
    if (large.bound + rest.bound > enough) continue;
    large.bound_of_rest = rest.bound;
    return large;
  }
  return std::nullopt;
}

}  // namespace stowage::planner
