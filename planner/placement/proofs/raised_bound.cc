#include "planner/placement/proofs/raised_bound.h"

#include <algorithm>
#include <vector>

#include "planner/placement/instance/instance.h"
#include "planner/placement/proofs/crowds.h"
#include "planner/placement/proofs/fragments.h"

namespace stowage::planner::placement {
namespace {

using Ranges = std::vector<AddressRange>;

/// What classes other than `own` hold at all times, by their regions or by items that are fixed.
Ranges held_by_others(const Problem& problem, std::uint32_t own) {
  Ranges held;
  const auto add = [&](Offset begin, Bytes size) {
    if (size.value() != 0) held.push_back({begin.value(), (begin + size).value()});
  };
  for (const Region& region : problem.regions) {
    if (region.stream_class != own) add(region.begin, region.size);
  }
  for (const Item& item : problem.items) {
    if (item.stream_class != own && item.fixed && occupies(item)) add(*item.fixed, item.size);
  }
  std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  Ranges disjoint;
  for (const AddressRange& range : held) {
    if (disjoint.empty() || disjoint.back().end < range.begin) disjoint.push_back(range);
    disjoint.back().end = std::max(disjoint.back().end, range.end);
  }
  return disjoint;
}

/// Nothing but the live bytes counts.
bool is_plain(const Problem& problem) {
  return problem.regions.empty() && problem.gaps.empty() &&
         std::none_of(problem.items.begin(), problem.items.end(),
                      [](const Item& item) { return item.fixed.has_value(); });
}

}  // namespace

Bytes raised_bound(const Problem& problem) {
  Bytes bound = lower_bound(problem);
  if (is_plain(problem)) return bound;
  for (const std::uint32_t own : stream_classes(problem)) {
    const Instance instance = build_instance(problem, own, held_by_others(problem, own));
    bound = std::max({bound, Bytes(fragment_bound(instance)), Bytes(crowd_bound(instance))});
  }
  return bound;
}

}  // namespace stowage::planner::placement
