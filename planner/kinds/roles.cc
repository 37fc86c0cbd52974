#include "planner/kinds/roles.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "planner/kinds/alike.h"
#include "planner/kinds/joint_problem.h"

namespace stowage::planner {
namespace {

constexpr std::size_t kContext = 8;  // requests behind an allocation that tell its role

/// Upstream's for the number of its instances, and not because none was seen freed.
bool is_crowded(const Allocation& allocation) {
  return allocation.crosses && allocation.ended && class_of(allocation) == LifeClass::kUpstream;
}

/// What follows `k` and `other` is alike, and not only because the iteration ends.
bool is_followed_alike(const Kind& kind, std::size_t k, const Kind& others, std::size_t other) {
  const auto mine = kind.allocations.begin() + static_cast<std::ptrdiff_t>(k);
  const auto theirs = others.allocations.begin() + static_cast<std::ptrdiff_t>(other);
  const auto left = std::min(kind.allocations.end() - mine, others.allocations.end() - theirs);
  return left > static_cast<std::ptrdiff_t>(kContext) &&
         std::equal(mine, mine + kContext + 1, theirs, same_request);
}

/// `to` has the role of `from`. True: that is news.
bool share(const Allocation& from, Allocation& to) {
  if (!to.crosses) return false;
  const Allocation before = to;
  to.at_once = std::max(to.at_once, from.at_once);
  to.spans = to.spans || from.spans;
  to.ended = true;
  return !(to == before);
}

bool share(const Kind& from, Kind& to) {
  const std::vector<std::optional<std::uint32_t>> matched = match_requests(to, from);
  bool news = false;
  for (std::size_t other = 0; other < from.allocations.size(); ++other) {
    const Allocation& crowded = from.allocations[other];
    if (!is_crowded(crowded)) continue;
    for (std::size_t k = 0; k < to.allocations.size(); ++k) {
      if (matched[k] == other || is_followed_alike(to, k, from, other))
        news |= share(crowded, to.allocations[k]);
    }
  }
  return news;
}

bool share_once(std::vector<Kind>& kinds) {
  bool news = false;
  for (const Kind& from : kinds) {
    if (std::none_of(from.allocations.begin(), from.allocations.end(), is_crowded)) continue;
    for (Kind& to : kinds) {
      if (&to != &from) news |= share(from, to);
    }
  }
  return news;
}

}  // namespace

// What one kind got from another it passes on: two kinds may have a third one's end or beginning each.
void share_roles(std::vector<Kind>& kinds) {
  for (std::size_t round = 0; round < kinds.size() && share_once(kinds); ++round) {
  }
}

}  // namespace stowage::planner
