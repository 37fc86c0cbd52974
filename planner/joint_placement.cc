#include "planner/joint_placement.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "planner/kinds/alike.h"
#include "planner/kinds/arrangement.h"
#include "planner/kinds/large_first.h"
#include "planner/kinds/regions.h"
#include "planner/kinds/repair.h"
#include "planner/kinds/twins.h"
#include "planner/placement/proofs/raised_bound.h"
#include "planner/placer.h"

namespace stowage::planner {
namespace {

using placement::Problem;
using placement::Solution;

constexpr double kQuick = 0.01;  // of a plan's work
constexpr double kFirstKind = 0.4;
constexpr double kFurtherKind = 0.1;
constexpr double kLargeFirst = 0.4;
constexpr double kSmallAfter = 0.1;
constexpr double kAtOnce = 0.3;

enum class Effort { kLittle, kFull };  // kLittle: what takes long fails

class JointPlanner {
 public:
  JointPlanner(const Kinds& kinds, const JointOptions& options, const std::stop_token& stop)
      : kinds_(kinds), options_(options), placer_(options, stop), count_(kinds.kinds.size()) {}

  Result<JointPlan> run() {
    bound_ = placement::lower_bound(problem_of(std::vector<bool>(count_, true)).problem);
    if (Status status = keep_in_use(); !status) return status.error();
    if (!is_enough()) take(place_one_by_one(Effort::kLittle));
    if (!is_enough()) place_large_first();
    if (!is_enough()) take(place_one_by_one(Effort::kFull));
    if (!is_enough() && count_ > 1) take(place_at_once());
    if (placer_.stopped()) return Error{ErrorCode::kCancelled, "planning was cancelled"};
    if (!best_) return *failed_;
    return plans_of(kinds_, *best_, options_.device, bound_);
  }

 private:
  [[nodiscard]] Bytes enough() const { return std::max(placer_.enough(bound_), options_.tolerable); }
  [[nodiscard]] bool is_enough() { return best_ && will_do(best_->height); }
  [[nodiscard]] bool will_do(Bytes height) {
    if (height > enough()) raise_bound();
    return height <= enough();
  }
  /// What the better bound costs is wasted on a placement that is good enough by the simple one.
  void raise_bound() {
    if (std::exchange(is_raised_, true)) return;
    bound_ = raised_bound(problem_of(std::vector<bool>(count_, true)).problem);
  }
  void take(Result<Arrangement> made) {
    if (!made.ok()) {
      failed_ = made.error();
    } else if (!best_ || made->height < best_->height) {
      best_ = *std::move(made);
    }
  }

  /// May fail: what two kinds leave alive may meet in a third one alone.
  Result<Arrangement> place_one_by_one(Effort effort) {
    return place_after({nothing_placed(kinds_), Bytes(0), {}}, std::vector<bool>(count_, false), effort);
  }

  /// The plans in use stay as they are, if they can.
  Status keep_in_use() {
    Arrangement kept{nothing_placed(kinds_), Bytes(0), "kept"};
    std::vector<bool> members = take_over(options_.in_use, kinds_, kept.places);
    if (std::count(members.begin(), members.end(), true) == 0) return {};
    Result<Arrangement> made = place_after(std::move(kept), std::move(members), Effort::kFull);
    if (made.ok()) {
      take(std::move(made));
      return {};
    }
    return made.error().code == ErrorCode::kCancelled ? Status(made.error()) : Status();
  }

  /// Those that need most memory by themselves first.
  [[nodiscard]] std::vector<std::uint32_t> largest_first() const {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> bounds;
    for (std::uint32_t kind = 0; kind < count_; ++kind)
      bounds.emplace_back(own_bound(kinds_, kind).value(), kind);
    std::sort(bounds.begin(), bounds.end(), [](const auto& a, const auto& b) {
      return std::pair(b.first, a.second) < std::pair(a.first, b.second);
    });
    std::vector<std::uint32_t> order;
    order.reserve(bounds.size());
    for (const auto& [bound, kind] : bounds) order.push_back(kind);
    return order;
  }

  /// The kinds that are no `members` yet, one by one, around those that are.
  Result<Arrangement> place_after(Arrangement made, std::vector<bool> members, Effort effort) {
    if (std::count(members.begin(), members.end(), true) != 0) {
      if (Status mended = mend(members, made); !mended) return mended.error();
    }
    for (const std::uint32_t kind : largest_first()) {
      if (members[kind]) continue;
      const bool first = std::count(members.begin(), members.end(), true) == 0;
      members[kind] = true;
      if (const std::optional<std::uint32_t> twin = twin_of(kinds_, kind)) members[*twin] = true;
      Status placed = first ? begin_with(members, made, effort) : complete(members, made, kind, effort);
      if (!placed) return placed.error();
    }
    return made;
  }

  /// What is kept must hold all that is known of its lifetimes and go around tenants, and allocations may
  /// have been upstream's.
  Status mend(const std::vector<bool>& members, Arrangement& made) {
    JointProblem part = problem_of(members);
    Former were(part.problem.items.size());
    for (std::size_t i = 0; i < part.slots.size(); ++i) were[i] = slot_in(made.places, part.slots[i]);
    Result<Solution> best = repair(part.problem, were, enough(), placer_.limits(kFurtherKind));
    if (!best) return best.error();
    const bool whole = stay(part, were, *best) == part.slots.size();
    if (!will_do(best->height) && !whole) {
      Result<Solution> more = placer_.solve(part.problem, kFurtherKind, enough());
      if (!more && more.error().code == ErrorCode::kCancelled) return more.error();
      if (more && more->height < best->height) best = std::move(more);
    }
    made.technique = whole ? "kept" : "repaired";
    put_in(part, *best, made);
    return {};
  }

  /// Fixes the items that stay where they were; how many those are.
  static std::size_t stay(JointProblem& part, const Former& were, const Solution& solution) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < part.slots.size(); ++i) {
      if (were[i] != solution.offsets[i]) continue;
      part.problem.items[i].fixed = were[i];
      ++count;
    }
    return count;
  }

  /// Nothing has a place yet.
  Status begin_with(const std::vector<bool>& members, Arrangement& made, Effort effort) {
    const JointProblem part = problem_of(members);
    Result<Solution> free = placer_.solve(part.problem, kQuick, enough());
    if (free && !will_do(free->height)) {
      if (effort == Effort::kLittle) return begin_with_large(members, part, made);
      free = options_.tolerable > bound_ ? placer_.solve(part.problem, kFirstKind, enough())
                                         : placer_.solve_near(part.problem, bound_, kFirstKind);
    }
    if (!free) return free.error();
    put_in(part, *free, made);
    return {};
  }

  /// All kinds at once are place_large_first()'s.
  Status begin_with_large(const std::vector<bool>& members, const JointProblem& part, Arrangement& made) {
    if (std::count(members.begin(), members.end(), false) == 0) return takes_long();
    const std::optional<Solution> free = solve_large_first(part.problem);
    if (!free || !will_do(free->height)) return takes_long();
    put_in(part, *free, made);
    return {};
  }

  static Error takes_long() { return Error{ErrorCode::kUnplannable, "no placement was found quickly"}; }

  /// Places `fresh`, which has no place yet, around the other members.
  Status complete(const std::vector<bool>& members, Arrangement& made, std::uint32_t fresh, Effort effort) {
    JointProblem part = problem_of(members);
    for (std::size_t i = 0; i < part.slots.size(); ++i)
      part.problem.items[i].fixed = slot_in(made.places, part.slots[i]);
    Problem wished = part.problem;
    fix_wishes(wishes_of(kinds_, part, made.places, members, fresh), wished);
    Result<Solution> best = placer_.solve(wished, kQuick, std::max(enough(), made.height));
    if (best && best->height <= std::max(enough(), made.height)) {
      put_in(part, *best, made);
      return {};
    }
    if (effort == Effort::kLittle) return takes_long();
    raise_bound();
    const Bytes target = std::max(enough(), made.height);
    best = placer_.solve(wished, kFurtherKind, target);
    if (!best && best.error().code == ErrorCode::kCancelled) return best.error();
    if (!best || best->height > target) {
      Result<Solution> free = placer_.solve(part.problem, kFurtherKind, target);
      if (!free) return free.error();
      if (!best || free->height < best->height) best = std::move(free);
    }
    put_in(part, *best, made);
    return {};
  }

  /// Nothing where no size parts `whole`, or either part has no placement.
  [[nodiscard]] std::optional<Solution> solve_large_first(Problem whole) const {
    const std::optional<LargePart> large = large_part(whole, bound_);
    if (!large) return std::nullopt;
    const Bytes room = enough() - std::min(enough(), large->bound_of_rest);
    const Result<Solution> first = placer_.solve(large->problem, kLargeFirst, std::max(large->bound, room));
    if (!first) return std::nullopt;
    for (std::size_t i = 0; i < large->items.size(); ++i)
      whole.items[large->items[i]].fixed = first->offsets[i];
    Result<Solution> all = placer_.solve(std::move(whole), kSmallAfter, enough());
    return all.ok() ? std::optional(*std::move(all)) : std::nullopt;
  }

  void place_large_first() {
    const JointProblem whole = problem_of(std::vector<bool>(count_, true));
    const std::optional<Solution> all = solve_large_first(whole.problem);
    if (!all || (best_ && all->height >= best_->height)) return;
    best_ = Arrangement{nothing_placed(kinds_), Bytes(0), "large-first"};
    put_in(whole, *all, *best_);
  }

  Result<Arrangement> place_at_once() {
    const JointProblem whole = problem_of(std::vector<bool>(count_, true));
    Result<Solution> solved = placer_.solve(whole.problem, kAtOnce, enough());
    if (!solved) return solved.error();
    Arrangement made{nothing_placed(kinds_), Bytes(0), {}};
    put_in(whole, *solved, made);
    return made;
  }

  /// With the regions that the plans in use gave to streams, where there are several.
  [[nodiscard]] JointProblem problem_of(const std::vector<bool>& members) const {
    JointProblem made = joint_problem(kinds_, members, options_.tenants);
    keep_regions(options_.in_use, options_.claimed, made.problem);
    return made;
  }

  const Kinds& kinds_;
  const JointOptions& options_;
  Placer placer_;
  const std::size_t count_;
  Bytes bound_{0};
  bool is_raised_ = false;  ///< bound_ is the better one
  std::optional<Arrangement> best_;
  std::optional<Error> failed_;  ///< why one of the ways came to nothing
};

}  // namespace

Result<JointPlan> place_jointly(const Kinds& kinds, const JointOptions& options,
                                const std::stop_token& stop) {
  return JointPlanner(kinds, options, stop).run();
}

}  // namespace stowage::planner
