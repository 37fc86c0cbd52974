#include "planner/joint_placement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "planner/kinds/alike.h"
#include "planner/kinds/regions.h"
#include "planner/placer.h"

namespace stowage::planner {
namespace {

using placement::Problem;
using placement::Solution;

constexpr double kFirstKind = 0.4;  // of a plan's work
constexpr double kFurtherKind = 0.1;
constexpr double kAtOnce = 0.3;

/// Offsets by kind and allocation: of the slot and of its spare.
struct Place {
  std::optional<Offset> offset;
  std::optional<Offset> spare;
};
using Places = std::vector<std::vector<Place>>;

struct Arrangement {
  Places places;
  Bytes height{0};
  std::string technique;
};

std::optional<Offset>& slot_in(Places& places, const JointSlot& slot) {
  Place& place = places[slot.kind][slot.allocation];
  return slot.spare ? place.spare : place.offset;
}

class JointPlanner {
 public:
  JointPlanner(const Kinds& kinds, const JointOptions& options, const std::stop_token& stop)
      : kinds_(kinds), options_(options), placer_(options, stop), count_(kinds.kinds.size()) {}

  Result<JointPlan> run() {
    bound_ = lower_bound(problem_of(std::vector<bool>(count_, true)).problem);
    if (Status status = keep_in_use(); !status) return status.error();
    if (!is_enough()) {
      Result<Arrangement> anew =
          place_after({nothing_placed(), Bytes(0), {}}, std::vector<bool>(count_, false));
      if (!anew.ok()) return anew.error();
      take(*std::move(anew));
    }
    if (!is_enough() && count_ > 1) {
      Result<Arrangement> together = place_at_once();
      if (!together.ok() && together.error().code == ErrorCode::kCancelled) return together.error();
      if (together.ok()) take(*std::move(together));
    }
    if (placer_.stopped()) return Error{ErrorCode::kCancelled, "planning was cancelled"};
    return assemble();
  }

 private:
  [[nodiscard]] Bytes enough() const { return std::max(placer_.enough(bound_), options_.tolerable); }
  [[nodiscard]] bool is_enough() const { return best_ && best_->height <= enough(); }
  void take(Arrangement made) {
    if (!best_ || made.height < best_->height) best_ = std::move(made);
  }

  [[nodiscard]] Places nothing_placed() const {
    Places places;
    for (const Kind& kind : kinds_.kinds) places.emplace_back(kind.allocations.size());
    return places;
  }

  /// The plans in use stay as they are, if they can.
  Status keep_in_use() {
    Arrangement kept{nothing_placed(), Bytes(0), "kept"};
    std::vector<bool> members(count_, false);
    std::map<std::uint64_t, std::size_t> seen;
    for (std::size_t kind = 0; kind < count_; ++kind) {
      const std::uint64_t fingerprint = kinds_.kinds[kind].fingerprint;
      const Plan* const plan = find_in_use(fingerprint, seen[fingerprint]++);
      if (plan != nullptr) members[kind] = take_over(*plan, kinds_.kinds[kind], kept.places[kind]);
    }
    if (std::count(members.begin(), members.end(), true) == 0) return {};
    Result<Arrangement> made = place_after(std::move(kept), std::move(members));
    if (made.ok()) {
      take(*std::move(made));
      return {};
    }
    return made.error().code == ErrorCode::kCancelled ? Status(made.error()) : Status();
  }

  /// A kind and its twin have one fingerprint, and are in use in this order.
  [[nodiscard]] const Plan* find_in_use(std::uint64_t fingerprint, std::size_t number) const {
    for (const Plan& plan : options_.in_use) {
      if (plan.fingerprint == fingerprint && number-- == 0) return &plan;
    }
    return nullptr;
  }

  /// As many of its slots as the allocations need by what is known now.
  static bool take_over(const Plan& plan, const Kind& kind, std::vector<Place>& places) {
    if (plan.entries.size() != places.size()) return false;
    for (std::size_t k = 0; k < places.size(); ++k) {
      const LifeClass life = class_of(kind.allocations[k]);
      const PlanEntry& entry = plan.entries[k];
      if (life == LifeClass::kUpstream || entry.offset == kUpstream) continue;
      places[k].offset = entry.offset;
      if (life == LifeClass::kTwoSlots && entry.spare != kUpstream) places[k].spare = entry.spare;
    }
    return true;
  }

  /// Those that need most memory by themselves first.
  [[nodiscard]] std::vector<std::uint32_t> largest_first() const {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> bounds;
    for (std::uint32_t kind = 0; kind < count_; ++kind) {
      std::vector<bool> alone(count_, false);
      alone[kind] = true;
      bounds.emplace_back(lower_bound(joint_problem(kinds_, alone, {}).problem).value(), kind);
    }
    std::sort(bounds.begin(), bounds.end(), [](const auto& a, const auto& b) {
      return std::pair(b.first, a.second) < std::pair(a.first, b.second);
    });
    std::vector<std::uint32_t> order;
    order.reserve(bounds.size());
    for (const auto& [bound, kind] : bounds) order.push_back(kind);
    return order;
  }

  /// The kinds that are no `members` yet, one by one, around those that are.
  Result<Arrangement> place_after(Arrangement made, std::vector<bool> members) {
    if (std::count(members.begin(), members.end(), true) != 0) {
      // What is kept must hold all that is known of its lifetimes, and allocations may have been upstream's.
      if (Status fits = complete(members, made, {}); !fits) return fits.error();
    }
    for (const std::uint32_t kind : largest_first()) {
      if (members[kind]) continue;
      const bool first = std::count(members.begin(), members.end(), true) == 0;
      members[kind] = true;
      if (const std::optional<std::uint32_t> twin = twin_of(kind)) members[*twin] = true;
      if (Status placed = first ? begin_with(members, made) : complete(members, made, kind); !placed)
        return placed.error();
    }
    return made;
  }

  [[nodiscard]] std::optional<std::uint32_t> twin_of(std::uint32_t kind) const {
    for (const std::uint32_t other : {kind + 1, kind - 1}) {
      if (other < count_ && kinds_.kinds[other].fingerprint == kinds_.kinds[kind].fingerprint) return other;
    }
    return std::nullopt;
  }

  /// Nothing has a place yet.
  Status begin_with(const std::vector<bool>& members, Arrangement& made) {
    const JointProblem part = problem_of(members);
    Result<Solution> free = placer_.solve_near(part.problem, bound_, kFirstKind);
    if (!free) return free.error();
    put_in(part, *free, made);
    return {};
  }

  /// Places what the members have no place for yet; `fresh`: the one that has none at all.
  Status complete(const std::vector<bool>& members, Arrangement& made, std::optional<std::uint32_t> fresh) {
    JointProblem part = problem_of(members);
    for (std::size_t i = 0; i < part.slots.size(); ++i)
      part.problem.items[i].fixed = slot_in(made.places, part.slots[i]);
    const Bytes target = std::max(enough(), made.height);
    std::optional<Solution> best;
    if (fresh) {
      Problem wished = part.problem;
      fix_wishes(wishes_of(part, made.places, members, *fresh), wished);
      Result<Solution> alike = placer_.solve(wished, kFurtherKind, target);
      if (!alike && alike.error().code == ErrorCode::kCancelled) return alike.error();
      if (alike) best = *std::move(alike);
    }
    if (!best || best->height > target) {
      Result<Solution> free = placer_.solve(part.problem, kFurtherKind, target);
      if (!free) return free.error();
      if (!best || free->height < best->height) best = *std::move(free);
    }
    put_in(part, *best, made);
    return {};
  }

  /// Offsets of the member that has most in common with `kind`.
  std::vector<std::optional<Offset>> wishes_of(const JointProblem& part, Places& places,
                                               const std::vector<bool>& members, std::uint32_t kind) const {
    std::vector<std::optional<std::uint32_t>> best;
    std::uint32_t like = kind;
    std::ptrdiff_t most = 0;
    for (std::uint32_t other = 0; other < count_; ++other) {
      if (other == kind || !members[other] || twin_of(kind) == other) continue;
      auto matched = match_alike(kinds_.kinds[kind], kinds_.kinds[other]);
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

  Result<Arrangement> place_at_once() {
    const JointProblem whole = problem_of(std::vector<bool>(count_, true));
    Result<Solution> solved = placer_.solve(whole.problem, kAtOnce, enough());
    if (!solved) return solved.error();
    Arrangement made{nothing_placed(), Bytes(0), {}};
    put_in(whole, *solved, made);
    return made;
  }

  static void put_in(const JointProblem& part, const Solution& solution, Arrangement& made) {
    made.height = Bytes(0);
    for (std::size_t i = 0; i < part.slots.size(); ++i) {
      slot_in(made.places, part.slots[i]) = solution.offsets[i];
      made.height = std::max(made.height, Bytes((solution.offsets[i] + part.problem.items[i].size).value()));
    }
    if (made.technique.empty()) made.technique = solution.technique;
  }

  /// With the regions that the plans in use gave to streams, where there are several.
  [[nodiscard]] JointProblem problem_of(const std::vector<bool>& members) const {
    JointProblem made = joint_problem(kinds_, members, options_.tenants);
    keep_regions(options_.in_use, options_.claimed, made.problem);
    return made;
  }

  [[nodiscard]] JointPlan assemble() {
    JointPlan made;
    made.history = kinds_.history;
    for (std::uint32_t kind = 0; kind < count_; ++kind) {
      made.plans.push_back(plan_of(kind));
      made.height = std::max(made.height, made.plans.back().height);
    }
    made.lower_bound = std::min(bound_, made.height);
    return made;
  }

  [[nodiscard]] Plan plan_of(std::uint32_t kind) const {
    const Kind& from = kinds_.kinds[kind];
    Plan plan;
    plan.device = options_.device;
    plan.fingerprint = from.fingerprint;
    plan.technique = best_->technique;
    for (std::size_t k = 0; k < from.allocations.size(); ++k) {
      const Allocation& allocation = from.allocations[k];
      const Place& place = best_->places[kind][k];
      plan.entries.push_back({allocation.rounded, allocation.stream, place.offset.value_or(kUpstream),
                              place.spare.value_or(kUpstream), allocation.crosses, allocation.death});
      for (const std::optional<Offset>& offset : {place.offset, place.spare}) {
        if (offset) plan.height = std::max(plan.height, Bytes((*offset + allocation.rounded).value()));
      }
    }
    std::vector<bool> alone(count_, false);
    alone[kind] = true;
    const Bytes bound = count_ == 1 ? bound_ : lower_bound(joint_problem(kinds_, alone, {}).problem);
    plan.lower_bound = std::min(bound, plan.height);
    plan.proved_optimal = plan.lower_bound == plan.height;
    return plan;
  }

  const Kinds& kinds_;
  const JointOptions& options_;
  Placer placer_;
  const std::size_t count_;
  Bytes bound_{0};
  std::optional<Arrangement> best_;
};

}  // namespace

Result<JointPlan> place_jointly(const Kinds& kinds, const JointOptions& options,
                                const std::stop_token& stop) {
  return JointPlanner(kinds, options, stop).run();
}

}  // namespace stowage::planner
