#include "planner/kinds/roles.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "planner/kinds/alike.h"
#include "planner/kinds/joint_problem.h"

namespace stowage::planner {
namespace {

/// Upstream's for the number of its instances, and not because none was seen freed.
bool is_crowded(const Allocation& allocation) {
  return allocation.crosses && allocation.ended && class_of(allocation) == LifeClass::kUpstream;
}

void share(const Kind& from, Kind& to) {
  const std::vector<std::optional<std::uint32_t>> matched = match_requests(to, from);
  for (std::size_t k = 0; k < matched.size(); ++k) {
    if (!matched[k] || !is_crowded(from.allocations[*matched[k]])) continue;
    Allocation& allocation = to.allocations[k];
    if (!allocation.crosses) continue;
    allocation.at_once = std::max(allocation.at_once, from.allocations[*matched[k]].at_once);
    allocation.spans = allocation.spans || from.allocations[*matched[k]].spans;
  }
}

}  // namespace

void share_roles(std::vector<Kind>& kinds) {
  for (const Kind& from : kinds) {
    if (std::none_of(from.allocations.begin(), from.allocations.end(), is_crowded)) continue;
    for (Kind& to : kinds) {
      if (&to != &from) share(from, to);
    }
  }
}

}  // namespace stowage::planner
