#include "planner/placement/proofs/raised_bound.h"

#include <algorithm>

#include "planner/placement/instance/classes.h"
#include "planner/placement/instance/instance.h"
#include "planner/placement/proofs/crowds.h"
#include "planner/placement/proofs/fragments.h"

namespace stowage::planner::placement {
namespace {

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
    const Instance instance = build_instance(problem, own, held_by_others(problem, {}, {}, own));
    bound = std::max({bound, Bytes(fragment_bound(instance)), Bytes(crowd_bound(instance))});
  }
  return bound;
}

}  // namespace stowage::planner::placement
