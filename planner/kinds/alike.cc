#include "planner/kinds/alike.h"

#include <algorithm>
#include <utility>

#include "planner/kinds/twins.h"
#include "planner/placement/instance/overlap.h"

namespace stowage::planner {
namespace {

using placement::Claim;
using placement::Item;
using placement::Problem;

bool alike(const Allocation& a, const Allocation& b) {
  return same_request(a, b) && class_of(a) == class_of(b);
}

template <class Same>
std::vector<std::optional<std::uint32_t>> match(const std::vector<Allocation>& mine,
                                                const std::vector<Allocation>& theirs, const Same& same) {
  std::vector<std::optional<std::uint32_t>> matched(mine.size());
  const std::size_t most = std::min(mine.size(), theirs.size());
  std::size_t begin = 0;
  for (; begin < most && same(mine[begin], theirs[begin]); ++begin)
    matched[begin] = static_cast<std::uint32_t>(begin);
  for (std::size_t end = 1; end <= most - begin; ++end) {
    if (!same(mine[mine.size() - end], theirs[theirs.size() - end])) break;
    matched[mine.size() - end] = static_cast<std::uint32_t>(theirs.size() - end);
  }
  return matched;
}

/// Calls `work` with each stretch of time in which item `i` needs its bytes; `gap` moves along with `i`.
template <class Work>
void for_stretches(const Problem& problem, std::uint32_t i, std::size_t& gap, const Work& work) {
  const Item& item = problem.items[i];
  while (gap < problem.gaps.size() && problem.gaps[gap].item < i) ++gap;
  std::uint64_t from = item.birth;
  for (; gap < problem.gaps.size() && problem.gaps[gap].item == i; ++gap) {
    work(from, problem.gaps[gap].begin);
    from = problem.gaps[gap].end;
  }
  const std::uint64_t end = problem.period == 0 ? item.death : std::min(item.death, problem.period);
  work(from, end);
  if (item.death > end) work(0, item.death - end);
}

/// Where the items of one stream would be, as claims; what others have is theirs at all times.
std::vector<Claim> claims_of(const Problem& problem, const std::vector<std::optional<Offset>>& wishes,
                             std::uint32_t stream) {
  std::uint64_t end = 0;
  for (const Item& item : problem.items) end = std::max(end, item.death);
  std::vector<Claim> claims;
  std::size_t gap = 0;
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    const Item& item = problem.items[i];
    const bool own = item.stream_class == stream;
    const std::optional<Offset> offset = item.fixed || !own ? item.fixed : wishes[i];
    if (!offset || !occupies(item)) continue;
    const std::uint64_t low = offset->value(), high = low + item.size.value();
    const auto claim = [&](std::uint64_t from, std::uint64_t to) {
      claims.push_back({static_cast<std::uint32_t>(from),
                        static_cast<std::uint32_t>(to),
                        {low, high},
                        i,
                        item.fixed.has_value()});
    };
    own ? for_stretches(problem, i, gap, claim) : claim(0, end);
  }
  return claims;
}

}  // namespace

bool same_request(const Allocation& a, const Allocation& b) {
  return a.rounded == b.rounded && a.stream == b.stream;
}

std::vector<std::optional<std::uint32_t>> match_alike(const Kind& kind, const Kind& other) {
  return match(kind.allocations, other.allocations, alike);
}

std::vector<std::optional<std::uint32_t>> match_requests(const Kind& kind, const Kind& other) {
  return match(kind.allocations, other.allocations, same_request);
}

void fix_wishes(const std::vector<std::optional<Offset>>& wishes, Problem& problem) {
  for (const std::uint32_t stream : stream_classes(problem)) {
    const std::vector<std::uint32_t> losers = placement::giving_way(claims_of(problem, wishes, stream));
    for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
      Item& item = problem.items[i];
      if (item.stream_class != stream || item.fixed || !wishes[i]) continue;
      if (!std::binary_search(losers.begin(), losers.end(), i)) item.fixed = wishes[i];
    }
  }
}

std::vector<std::optional<Offset>> wishes_of(const Kinds& kinds, const JointProblem& part, Places& places,
                                             const std::vector<bool>& members, std::uint32_t kind) {
  std::vector<std::optional<std::uint32_t>> best;
  std::uint32_t like = kind;
  std::ptrdiff_t most = 0;
  for (std::uint32_t other = 0; other < members.size(); ++other) {
    if (other == kind || !members[other] || twin_of(kinds, kind) == other) continue;
    auto matched = match_alike(kinds.kinds[kind], kinds.kinds[other]);
    const auto none = std::count(matched.begin(), matched.end(), std::nullopt);
    const std::ptrdiff_t count = static_cast<std::ptrdiff_t>(matched.size()) - none;
    if (count <= most) continue;
    most = count;
    like = other;
    best = std::move(matched);
  }
  std::vector<std::optional<Offset>> wishes(part.problem.items.size());
  for (std::size_t i = 0; i < part.slots.size() && like != kind; ++i) {
    const JointSlot& slot = part.slots[i];
    if (slot.kind == kind && best[slot.allocation])
      wishes[i] = slot_in(places, {like, *best[slot.allocation], slot.spare});
  }
  return wishes;
}

}  // namespace stowage::planner
