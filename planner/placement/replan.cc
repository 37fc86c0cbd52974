#include "planner/placement/replan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "planner/placement/greedy/lift.h"
#include "planner/placement/instance/instance.h"
#include "planner/placement/instance/overlap.h"
#include "planner/placement/problem/validator.h"

namespace stowage::planner::placement {
namespace {

using Kept = std::vector<std::optional<Offset>>;  // by item

/// Step 2 is left out if it frees more than one in so many items: then placing everything again is faster.
constexpr std::size_t kFewFreed = 8;

/// Step 1 comes second if more than one item in so many has no old offset.
constexpr std::size_t kFewNew = 400;

class Replanner {
 public:
  Replanner(const Problem& problem, const Carried& old, Bytes old_height, const ReplanOptions& options)
      : problem_(problem),
        old_(old.offsets),
        grown_(old.grown),
        options_(options),
        bound_(lower_bound(problem)) {
    const double near = static_cast<double>(bound_.value()) * (1 + options.tolerance);
    const auto fixed = [](const Item& item) { return item.fixed.has_value(); };
    only_kept_ = problem.regions.empty() && stream_classes(problem).size() == 1 &&
                 std::none_of(problem.items.begin(), problem.items.end(), fixed);
    any_stable_ = std::count(options.keep_stable.begin(), options.keep_stable.end(), true) != 0;
    good_ = std::max({bound_, old_height, Bytes(static_cast<std::uint64_t>(near))});
  }

  Result<Replanned> run() {
    const bool many = options_.last_step > 2 && many_are_new();
    if (many && lift_all()) return finish();
    Kept kept = what_fits();
    if (Status status = check_stable(kept); !status) return status.error();
    attempt(kept, 1);
    if (done()) return finish();
    const bool may_free = best_ && options_.last_step > 1;
    if (may_free && free_where_too_high(kept) <= problem_.items.size() / kFewFreed) {
      attempt(kept, 2);
      if (done()) return finish();
    }
    if (options_.last_step < 3) return sound(), finish();
    if (!many && lift_all()) return finish();
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (!stable(i)) kept[i].reset();
    }
    attempt(kept, 3);
    sound();
    return finish();
  }

 private:
  [[nodiscard]] bool stable(std::size_t i) const {
    return i < options_.keep_stable.size() && options_.keep_stable[i] && old_[i].has_value();
  }

  /// Old offsets that stay aligned, are what the item is fixed to, and collide with none of the others.
  Kept what_fits() {
    Kept kept = old_;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const Item& item = problem_.items[i];
      if (item.fixed) kept[i] = item.fixed;
      if (kept[i] && !stable(i) && kept[i]->value() % item.alignment.value() != 0) kept[i].reset();
    }
    for (std::uint32_t stream_class : stream_classes(problem_)) {
      for (std::uint32_t i : giving_way(claims_of(kept, stream_class))) kept[i].reset();
    }
    return kept;
  }

  /// Where the kept items of a class are, whole; a wrapped life claims twice.
  [[nodiscard]] std::vector<Claim> claims_of(const Kept& kept, std::uint32_t stream_class) {
    if (only_kept_) return claims_of(kept, whole());
    Problem loose = problem_;
    for (Item& item : loose.items) item.fixed.reset();
    return claims_of(kept, build_instance(loose, stream_class, {}));
  }
  [[nodiscard]] std::vector<Claim> claims_of(const Kept& kept, const Instance& instance) const {
    std::vector<Claim> claims;
    claims.reserve(instance.pieces.size());
    for (const Piece& piece : instance.pieces) {
      if (!kept[piece.item]) continue;
      const bool firm = stable(piece.item) || problem_.items[piece.item].fixed.has_value();
      const std::uint64_t at = kept[piece.item]->value();
      const auto claim = [&](std::uint32_t begin, std::uint32_t end, std::uint64_t low, std::uint64_t high) {
        claims.push_back({begin, end, {at + low, at + high}, piece.item, firm});
      };
      for (const Part& part : instance.parts_of(piece)) claim(part.begin, part.end, part.lower, part.upper);
      if (!piece.solid()) continue;
      claim(piece.life.begin, piece.life.end, 0, piece.size);
      if (piece.life.wrapped_end != 0) claim(0, piece.life.wrapped_end, 0, piece.size);
    }
    return claims;
  }

  [[nodiscard]] Status check_stable(const Kept& kept) const {
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (!stable(i)) continue;
      const bool misaligned = old_[i]->value() % problem_.items[i].alignment.value() != 0;
      if (!misaligned && kept[i] == old_[i]) continue;
      return Error{ErrorCode::kInvalidArgument,
                   "replan: item " + std::to_string(i) + " must stay where it was, but " +
                       (misaligned ? "is misaligned there" : "another that must stay is there too") +
                       "; let one of them move"};
    }
    return {};
  }

  /// All items, none of them fixed. Requires: only_kept_.
  const Instance& whole() {
    if (!whole_) whole_ = build_instance(problem_, stream_classes(problem_).front(), {});
    return *whole_;
  }

  void attempt(const Kept& kept, int step) {
    Problem problem = problem_;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i] && (occupies(problem.items[i]) || stable(i))) problem.items[i].fixed = kept[i];
    }
    GreedyOptions greedy = options_.greedy;
    if (step < 3) {
      problem.capacity = good_;
      greedy.boosting = greedy.best_fit = greedy.lowest_first = greedy.online = greedy.folding = false;
      greedy.orders = 1;
      greedy.check_fixed = !only_kept_;  // else what_fits() saw to it
    }
    Result<Solution> placed = place_greedily(problem, greedy);
    if (!placed) {
      if (!error_ || step == 3) error_ = placed.error();
      return;
    }
    spent_ += placed->work;
    take(std::move(*placed), step);
  }

  /// Too many to find room among all others at their old offsets.
  [[nodiscard]] bool many_are_new() const {
    const auto is_new = [](const auto& offset) { return !offset.has_value(); };
    return static_cast<std::size_t>(std::count_if(old_.begin(), old_.end(), is_new)) >
           problem_.items.size() / kFewNew;
  }
  /// Where the pieces of whole() were, those that were nowhere on top.
  [[nodiscard]] std::vector<std::uint64_t> old_order() {
    std::vector<std::uint64_t> were;
    were.reserve(whole().pieces.size());
    for (const Piece& piece : whole().pieces) {
      const std::uint32_t i = piece.item;
      const std::optional<Offset> was = old_[i] || grown_.empty() ? old_[i] : grown_[i];
      were.push_back(was ? was->value() : kOnTop);
    }
    return were;
  }

  /// Everything in its old order, lifted where need be; true if that will do.
  bool lift_all() {
    if (!only_kept_ || any_stable_) return false;
    const Race alone{~std::uint32_t{0}};
    WorkMeter meter(options_.greedy.limits, options_.greedy.limits.work_limit, alone, 0);
    Draft draft;
    const bool lifted = lift(whole(), old_order(), meter, draft);
    spent_ += meter.used();
    if (!lifted) return options_.greedy.limits.over() && best_;
    Solution solution;
    solution.offsets.assign(problem_.items.size(), Offset(0));
    for (std::size_t p = 0; p < draft.offsets.size(); ++p)
      solution.offsets[whole().pieces[p].item] = Offset(draft.offsets[p]);
    solution.height = height_of(problem_, solution.offsets);
    solution.technique = "lift";
    if (solution.height > good_) return false;  // all would have moved for little
    take(std::move(solution), 2);
    return done();
  }

  /// The lowest stays, of equals the earlier one.
  void take(Solution&& placed, int step) {
    placed.lower_bound = bound_;
    placed.proved_optimal = placed.height == bound_;
    if (best_ && best_->height <= placed.height) return;
    best_ = std::move(placed);
    step_ = step;
  }

  /// True if the best one will do, and holds; one that does not is dropped.
  bool done() {
    if (!(best_ && best_->height <= good_) && !options_.greedy.limits.over()) return false;
    return sound();
  }

  /// Only what is about to be returned is validated: the dearest part of a small change.
  bool sound() {
    if (!best_) return true;
    const Status status = validate_placement(problem_, *best_, options_.greedy.limits);
    if (status.ok()) return true;
    error_ = status.error();
    best_.reset();
    return false;
  }

  /// Frees all that is alive while something lies above the good height; how many that are.
  std::size_t free_where_too_high(Kept& kept) const {
    std::size_t freed = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> high;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const Item& item = problem_.items[i];
      if (occupies(item) && best_->offsets[i] + item.size > Offset(good_.value()))
        high.emplace_back(item.birth, item.death);
    }
    std::sort(high.begin(), high.end());
    std::vector<std::pair<std::uint64_t, std::uint64_t>> merged;
    for (const auto& [birth, death] : high) {
      if (merged.empty() || merged.back().second < birth) merged.emplace_back(birth, death);
      merged.back().second = std::max(merged.back().second, death);
    }
    const auto meets = [&merged](std::uint64_t birth, std::uint64_t death) {
      const auto after = std::lower_bound(merged.begin(), merged.end(), std::pair{death, std::uint64_t{0}});
      return after != merged.begin() && std::prev(after)->second > birth;
    };
    const std::uint64_t period = problem_.period;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const Item& item = problem_.items[i];
      if (stable(i) || item.fixed) continue;
      const bool wrapped = period != 0 && (meets(item.birth + period, item.death + period) ||
                                           (item.death > period && meets(0, item.death - period)));
      if (!kept[i] || !(wrapped || meets(item.birth, item.death))) continue;
      kept[i].reset();
      ++freed;
    }
    return freed;
  }

  Result<Replanned> finish() {
    if (options_.greedy.limits.stop.stop_requested())
      return Error{ErrorCode::kCancelled, "placement was cancelled"};
    if (!best_ && error_) return *error_;
    if (!best_)
      return Error{ErrorCode::kInternal, "replan: no step had a valid result; place the problem again"};
    best_->work = spent_;
    Replanned replanned{*std::move(best_), 0, 0, step_};
    for (std::size_t i = 0; i < old_.size(); ++i) {
      if (!old_[i]) continue;
      ++(replanned.solution.offsets[i] == *old_[i] ? replanned.kept : replanned.moved);
    }
    return replanned;
  }

  const Problem& problem_;
  const Kept& old_;
  const Kept& grown_;
  const ReplanOptions& options_;
  Bytes bound_;
  Bytes good_;
  bool only_kept_ = false;   ///< nothing holds an address but what is kept
  bool any_stable_ = false;  ///< some of it must not move
  std::optional<Instance> whole_;
  std::optional<Solution> best_;
  std::optional<Error> error_;
  int step_ = 0;
  std::uint64_t spent_ = 0;  ///< work of all steps
};

}  // namespace

Result<Replanned> replan(const Problem& problem, const Carried& old, Bytes old_height,
                         const ReplanOptions& options) {
  if (Status status = check_problem(problem); !status) return status.error();
  const std::size_t count = problem.items.size();
  if (old.offsets.size() != count || (!old.grown.empty() && old.grown.size() != count))
    return Error{ErrorCode::kInvalidArgument,
                 "replan: there must be an old offset, or none, for each item of the new problem"};
  return Replanner(problem, old, old_height, options).run();
}

}  // namespace stowage::planner::placement
