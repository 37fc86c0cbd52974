#include "planner/joint_planner.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "planner/guarded_planning.h"
#include "planner/kinds/twins.h"
#include "planner/placement/proofs/raised_bound.h"
#include "planner/placer.h"

namespace stowage::planner {
namespace {

constexpr std::uint64_t kSharesWorthATwin = 256;  // of the lower bound
constexpr std::uint64_t kSharesOfTime = 4;        // where any good plan is wanted soon

placement::Problem whole_problem(const Kinds& kinds, const JointOptions& options) {
  return joint_problem(kinds, std::vector<bool>(kinds.kinds.size(), true), options.tenants).problem;
}

/// As a share of `of`.
double excess(Bytes height, Bytes of) {
  return static_cast<double>((height - of).value()) / static_cast<double>(of.value());
}

bool has_twins(const std::vector<Plan>& plans) {
  std::set<std::uint64_t> fingerprints;
  for (const Plan& plan : plans) fingerprints.insert(plan.fingerprint);
  return fingerprints.size() < plans.size();
}

/// With twins first, where these may save what is worth a larger problem or are in use; without them if that
/// comes to nothing. Where a first plan is wanted soon, one that saves half of what twins can save will do;
/// not where a lower one than those in use is sought.
Result<JointPlan> weigh_twins(const Kinds& kinds, const JointOptions& options, const std::stop_token& stop) {
  const placement::Problem problem = whole_problem(kinds, options);
  const Bytes least(placement::lower_bound(problem).value() / kSharesWorthATwin);
  std::vector<bool> wanted;
  for (const Kind& kind : kinds.kinds) wanted.push_back(held_twice(kind) > least);
  if (std::count(wanted.begin(), wanted.end(), true) == 0) return place_jointly(kinds, options, stop);
  const Kinds twins = with_twins(kinds, wanted);
  const Bytes worth_it = has_twins(options.in_use) ? Bytes(1) : least;
  const Bytes bound = placement::raised_bound(problem),
              below = placement::raised_bound(whole_problem(twins, options));
  if (below + worth_it > bound) return place_jointly(kinds, options, stop);
  JointOptions soon = options;
  if (options.good_enough > 0 && options.in_use.empty()) {
    soon.good_enough = std::max(options.good_enough, excess(bound - worth_it, below) / 2);
    soon.time_limit_s /= kSharesOfTime;
    soon.work_limit /= kSharesOfTime;
  }
  Result<JointPlan> made = place_jointly(twins, soon, stop);
  if (made.ok() && made->height + worth_it <= bound) return made;
  if (!made.ok() && made.error().code == ErrorCode::kCancelled) return made;
  Result<JointPlan> without = place_jointly(kinds, options, stop);
  return without.ok() && (!made.ok() || without->height < made->height) ? without : made;
}

/// By kind: how many plans in use it has.
std::vector<std::ptrdiff_t> count_in_use(const Kinds& kinds, const std::vector<Plan>& in_use) {
  std::vector<std::ptrdiff_t> counts;
  for (const Kind& kind : kinds.kinds) {
    counts.push_back(std::count_if(in_use.begin(), in_use.end(),
                                   [&](const Plan& plan) { return plan.fingerprint == kind.fingerprint; }));
  }
  return counts;
}

/// As long as plans in use can be mended, kinds keep their twins and get no others.
Result<JointPlan> place_kinds(const Kinds& kinds, const JointOptions& options, const std::stop_token& stop) {
  const std::vector<std::ptrdiff_t> counts = count_in_use(kinds, options.in_use);
  const bool known = std::count(counts.begin(), counts.end(), 0) == 0;
  if (options.tolerable == Bytes(0) || !known) return weigh_twins(kinds, options, stop);
  std::vector<bool> twice(counts.size());
  std::transform(counts.begin(), counts.end(), twice.begin(), [](std::ptrdiff_t count) { return count > 1; });
  Result<JointPlan> mended = place_jointly(with_twins(kinds, twice), options, stop);
  const bool will_do =
      mended.ok() ? mended->height <= options.tolerable : mended.error().code == ErrorCode::kCancelled;
  return will_do ? std::move(mended) : weigh_twins(kinds, options, stop);
}

Result<JointPlan> make_plans_checked(const Kinds& kinds, const JointOptions& options,
                                     const std::stop_token& stop) {
  const auto begun = std::chrono::steady_clock::now();
  if (Status status = check_options(options); !status) return status.error();
  if (kinds.kinds.empty())
    return Error{ErrorCode::kUnplannable,
                 "there is no kind of iteration to plan; record until two iterations agree"};
  Result<JointPlan> made = place_kinds(kinds, options, stop);
  if (!made.ok()) return made;
  const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - begun;
  for (Plan& plan : made->plans) {
    if (Status valid = plan.validate(); !valid) return Error{ErrorCode::kInvalidPlan, valid.error().message};
    plan.planning_ns = static_cast<std::uint64_t>(taken.count());
  }
  return made;
}

}  // namespace

Result<JointPlan> make_plans(const Kinds& kinds, const JointOptions& options, const std::stop_token& stop) {
  return guarded_planning<JointPlan>([&] { return make_plans_checked(kinds, options, stop); });
}

}  // namespace stowage::planner
