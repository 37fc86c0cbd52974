#include "planner/placer.h"

#include <algorithm>
#include <utility>

namespace stowage::planner {
namespace {

using Clock = std::chrono::steady_clock;
using placement::Problem;
using placement::Solution;

/// Of the work of a placement, what is spent on one that is good enough before the best one is sought.
constexpr double kGoodEnoughFirst = 0.25;

}  // namespace

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
  return {};
}

Placer::Placer(const PlanOptions& options, const std::stop_token& stop)
    : options_(options),
      stop_(stop),
      begun_(Clock::now()),
      deadline_(begun_ + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(options.time_limit_s))),
      work_(options.total_work) {}

Result<Solution> Placer::solve(Problem problem, double share, std::optional<Bytes> capacity) const {
  if (capacity) problem.capacity = capacity;
  placement::PlaceOptions place;
  place.work_limit = limits(share).work_limit;
  place.time_limit_s = std::max(std::chrono::duration<double>(deadline_ - Clock::now()).count(), 1e-9);
  place.shared_work = &work_;
  place.threads = options_.threads;
  place.stop = stop_;
  place.techniques.explain = false;
  return placement::place(problem, place);
}

placement::Limits Placer::limits(double share) const {
  placement::Limits limits;
  const double work = share * static_cast<double>(options_.work_limit);
  limits.work_limit = std::max<std::uint64_t>(static_cast<std::uint64_t>(work), 1);
  limits.deadline = deadline_;
  limits.shared = &work_;
  limits.stop = stop_;
  return limits;
}

Bytes Placer::enough(Bytes bound) const {
  return Bytes(static_cast<std::uint64_t>(static_cast<double>(bound.value()) * (1 + options_.good_enough)));
}

Result<Solution> Placer::solve_near(const Problem& problem, Bytes bound, double share) const {
  if (options_.good_enough == 0) return solve(problem, share);
  Result<Solution> quick = solve(problem, kGoodEnoughFirst * share, enough(bound));
  if (!quick || quick->height <= enough(bound)) return quick;
  Result<Solution> best = solve(problem, (1 - kGoodEnoughFirst) * share);
  return best && best->height < quick->height ? best : quick;
}

}  // namespace stowage::planner
