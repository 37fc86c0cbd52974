#include "planner/planner.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <string>

#include "planner/lifetimes.h"
#include "planner/placement/solve.h"
#include "planner/siblings.h"

namespace stowage::planner {
namespace {

using Clock = std::chrono::steady_clock;
using placement::Problem;
using placement::Solution;

Status check_options(const PlanOptions& options) {
  // The upper bound keeps the sum with now() inside the clock's range; NaN fails both comparisons.
  if (!(options.time_limit_s > 0 && options.time_limit_s <= 1e6)) {
    return Error{ErrorCode::kInvalidArgument,
                 "the planner's time limit must be above 0 and at most 1e6 seconds"};
  }
  if (!(options.good_enough >= 0 && options.good_enough <= 1)) {
    return Error{ErrorCode::kInvalidArgument,
                 "what is good enough must be from 0 to 1 times the lower bound"};
  }
  if (options.threads < 0)
    return Error{ErrorCode::kInvalidArgument, "the planner's threads must not be negative"};
  if (std::find(options.siblings.begin(), options.siblings.end(), nullptr) != options.siblings.end()) {
    return Error{ErrorCode::kInvalidArgument, "a sibling plan is null; leave it out"};
  }
  return {};
}

/// What is left of a plan's time and work, for one placement after the other.
class Placer {
 public:
  Placer(const PlanOptions& options, const std::stop_token& stop)
      : options_(options), stop_(stop), deadline_(Clock::now() + seconds(options.time_limit_s)) {}

  /// Places and validates; one call may do `share` of the plan's work.
  [[nodiscard]] Result<Solution> solve(const Problem& problem, double share) const {
    placement::PlaceOptions place;
    const double work = share * static_cast<double>(options_.work_limit);
    place.work_limit = std::max<std::uint64_t>(static_cast<std::uint64_t>(work), 1);
    place.time_limit_s = std::max(std::chrono::duration<double>(deadline_ - Clock::now()).count(), 1e-9);
    place.threads = options_.threads;
    place.stop = stop_;
    place.techniques.explain = false;
    return placement::place(problem, place);
  }

 private:
  static Clock::duration seconds(double count) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
  }

  const PlanOptions& options_;
  const std::stop_token& stop_;
  Clock::time_point deadline_;
};

/// Of a plan's work, what one placement among offsets that siblings fix may take: the height is theirs as a
/// rule, and the bound out of reach.
constexpr double kBesideSiblings = 0.1;

/// The part of a plan's work in which a placement is sought that is good enough, before the best one is.
constexpr double kGoodEnoughFirst = 0.25;

/// The first placement that is good enough, else the lowest one.
Result<Solution> solve_alone(const Problem& problem, const PlanOptions& options, const Placer& placer) {
  if (options.good_enough == 0) return placer.solve(problem, 1);
  Problem limited = problem;
  const auto bound = static_cast<double>(lower_bound(problem).value());
  limited.capacity = Bytes(static_cast<std::uint64_t>(bound * (1 + options.good_enough)));
  Result<Solution> quick = placer.solve(limited, kGoodEnoughFirst);
  if (!quick || fits(limited, *quick)) return quick;
  Result<Solution> best = placer.solve(problem, 1 - kGoodEnoughFirst);
  return best && best->height < quick->height ? best : quick;
}

/// With as many of the siblings' offsets as the arena, which all plans share, can take. It may grow a little
/// for that: what finds its slot in use is served outside the arena and costs as much.
Result<Solution> solve_beside_siblings(const Lifetimes& lifetimes, const PlanOptions& options,
                                       const Placer& placer) {
  const Bytes bound = lower_bound(lifetimes.problem);
  Bytes highest = bound;
  for (const Plan* sibling : options.siblings) highest = std::max(highest, sibling->height);
  const Bytes most(highest.value() + highest.value() / 4);
  std::optional<Solution> best;
  for (Keep keep : {Keep::kAlike, Keep::kAllCrossing, Keep::kWholePeriod}) {
    if (options.siblings.empty()) break;
    const Problem fixed = fix_by_siblings(lifetimes, options.siblings, keep);
    if (!has_fixed(fixed)) continue;
    Result<Solution> beside = placer.solve(fixed, kBesideSiblings);
    if (!beside && beside.error().code == ErrorCode::kCancelled) return beside;
    if (!beside) continue;
    if (!best || beside->height < best->height) best = *beside;
    if (best->height <= highest || (keep == Keep::kAllCrossing && best->height <= most)) break;
  }
  if (!best || best->height > most)
    return solve_alone(fix_by_siblings(lifetimes, options.siblings, Keep::kNone), options, placer);
  // The bound of the fixed problem may be above that of the lifetimes alone, which is what a plan states.
  best->lower_bound = bound;
  best->proved_optimal = best->height == bound;
  return *best;
}

Plan assemble(const Trace& trace, Lifetimes lifetimes, const Solution& solution) {
  Plan plan;
  plan.device = trace.info.device.kind;
  plan.fingerprint = fingerprint(trace, trace.steady->begin, trace.steady->end);
  plan.entries = std::move(lifetimes.entries);
  for (std::size_t i = 0; i < lifetimes.slots.size(); ++i) {
    const Slot slot = lifetimes.slots[i];
    (slot.spare ? plan.entries[slot.entry].spare : plan.entries[slot.entry].offset) = solution.offsets[i];
  }
  plan.inner_marks = std::move(lifetimes.inner_marks);
  plan.height = solution.height;
  plan.lower_bound = solution.lower_bound;
  plan.proved_optimal = solution.proved_optimal;
  plan.technique = solution.technique;
  return plan;
}

Result<Plan> make_plan_checked(const Trace& trace, const PlanOptions& options, const std::stop_token& stop) {
  const Clock::time_point begun = Clock::now();
  if (Status status = check_options(options); !status) return status.error();
  const Placer placer(options, stop);
  Result<Lifetimes> lifetimes = find_lifetimes(trace);
  if (!lifetimes) return lifetimes.error();
  const Result<Solution> solution = solve_beside_siblings(*lifetimes, options, placer);
  if (!solution) return solution.error();
  if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "planning was cancelled"};
  Plan plan = assemble(trace, std::move(lifetimes.value()), *solution);
  if (Status status = plan.validate(); !status) return Error{ErrorCode::kInvalidPlan, status.error().message};
  plan.planning_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begun).count());
  return plan;
}

}  // namespace

Result<Plan> make_plan(const Trace& trace, const PlanOptions& options, const std::stop_token& stop) {
  try {
    return make_plan_checked(trace, options, stop);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, "the planner ran out of host memory"};
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInternal, std::string("the planner failed: ") + error.what()};
  }
}

}  // namespace stowage::planner
