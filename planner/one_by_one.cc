#include "planner/one_by_one.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "planner/kinds/alike.h"
#include "planner/kinds/repair.h"
#include "planner/kinds/twins.h"

namespace stowage::planner {
namespace {

using placement::Problem;
using placement::Solution;

bool any(const std::vector<bool>& members) {
  return std::find(members.begin(), members.end(), true) != members.end();
}

Error takes_long() { return Error{ErrorCode::kUnplannable, "no placement was found quickly"}; }

/// Fixes the items that stay where they were; how many those are.
std::size_t stay(JointProblem& part, const Former& were, const Solution& solution) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < part.slots.size(); ++i) {
    if (were[i] != solution.offsets[i]) continue;
    part.problem.items[i].fixed = were[i];
    ++count;
  }
  return count;
}

}  // namespace

Result<Arrangement> OneByOne::place(Effort effort) {
  return place_others({nothing_placed(task_.kinds()), Bytes(0), {}}, std::vector<bool>(task_.count(), false),
                      effort);
}

Result<Arrangement> OneByOne::keep(Arrangement made, std::vector<bool> members, Effort effort) {
  if (Status mended = mend(members, made, effort); !mended) return mended.error();
  return place_others(std::move(made), std::move(members), Effort::kFull);
}

Result<Arrangement> OneByOne::place_others(Arrangement made, std::vector<bool> members, Effort effort) {
  for (const std::uint32_t kind : largest_first()) {
    if (members[kind]) continue;
    const bool first = !any(members);
    members[kind] = true;
    if (const std::optional<std::uint32_t> twin = twin_of(task_.kinds(), kind)) members[*twin] = true;
    Status placed = first ? begin_with(members, made, effort) : complete(members, made, kind, effort);
    if (!placed) return placed.error();
  }
  return made;
}

// Those that need most memory by themselves.
std::vector<std::uint32_t> OneByOne::largest_first() const {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> bounds;
  for (std::uint32_t kind = 0; kind < task_.count(); ++kind)
    bounds.emplace_back(own_bound(task_.kinds(), kind).value(), kind);
  std::sort(bounds.begin(), bounds.end(), [](const auto& a, const auto& b) {
    return std::pair(b.first, a.second) < std::pair(a.first, b.second);
  });
  std::vector<std::uint32_t> order;
  order.reserve(bounds.size());
  for (const auto& [bound, kind] : bounds) order.push_back(kind);
  return order;
}

// What is kept must hold all that is known of its lifetimes and go around tenants, and allocations may have
// been upstream's.
Status OneByOne::mend(const std::vector<bool>& members, Arrangement& made, Effort effort) {
  JointProblem part = task_.problem_of(members);
  Former were(part.problem.items.size());
  for (std::size_t i = 0; i < part.slots.size(); ++i) were[i] = slot_in(made.places, part.slots[i]);
  Result<Solution> best = repair(part.problem, were, task_.enough(), task_.placer().limits(kFurtherKind));
  if (!best) return best.error();
  const bool whole = stay(part, were, *best) == part.slots.size();
  const bool may_be_lower = !whole && !task_.will_do(best->height) && !task_.is_hopeless();
  spared_ = may_be_lower && effort == Effort::kLittle;
  if (may_be_lower && effort == Effort::kFull) {
    Result<Solution> more = task_.placer().solve(part.problem, kFurtherKind, task_.enough());
    if (!more && more.error().code == ErrorCode::kCancelled) return more.error();
    if (more && more->height < best->height) best = std::move(more);
  }
  made.technique = whole ? "kept" : "repaired";
  put_in(part, *best, made);
  return {};
}

// Nothing has a place yet.
Status OneByOne::begin_with(const std::vector<bool>& members, Arrangement& made, Effort effort) {
  const JointProblem part = task_.problem_of(members);
  const Placer& placer = task_.placer();
  Result<Solution> free = placer.solve(part.problem, kQuick, task_.enough());
  if (free && !task_.will_do(free->height)) {
    if (effort == Effort::kLittle) return begin_with_large(members, part, made);
    free = task_.options().tolerable > task_.bound()
               ? placer.solve(part.problem, kFirstKind, task_.enough())
               : placer.solve_near(part.problem, task_.bound(), kFirstKind);
  }
  if (!free) return free.error();
  put_in(part, *free, made);
  return {};
}

// All kinds at once are JointPlanner's.
Status OneByOne::begin_with_large(const std::vector<bool>& members, const JointProblem& part,
                                  Arrangement& made) {
  if (std::count(members.begin(), members.end(), false) == 0) return takes_long();
  const std::optional<Solution> free = task_.solve_large_first(part.problem);
  if (!free || !task_.will_do(free->height)) return takes_long();
  put_in(part, *free, made);
  return {};
}

// `fresh` has no place yet, and goes around the other members.
Status OneByOne::complete(const std::vector<bool>& members, Arrangement& made, std::uint32_t fresh,
                          Effort effort) {
  JointProblem part = task_.problem_of(members);
  for (std::size_t i = 0; i < part.slots.size(); ++i)
    part.problem.items[i].fixed = slot_in(made.places, part.slots[i]);
  Problem wished = part.problem;
  fix_wishes(wishes_of(task_.kinds(), part, made.places, members, fresh), wished);
  const Placer& placer = task_.placer();
  const auto target = [&] { return std::max(task_.enough(), made.height); };
  Result<Solution> best = placer.solve(wished, kQuick, target());
  if (!best || best->height > target()) {
    if (effort == Effort::kLittle) return takes_long();
    task_.raise_bound();
    best = placer.solve(wished, kFurtherKind, target());
    if (!best && best.error().code == ErrorCode::kCancelled) return best.error();
  }
  if (!best || best->height > target()) {
    Result<Solution> free = placer.solve(part.problem, kFurtherKind, target());
    if (!free) return free.error();
    if (!best || free->height < best->height) best = std::move(free);
  }
  put_in(part, *best, made);
  return {};
}

}  // namespace stowage::planner
