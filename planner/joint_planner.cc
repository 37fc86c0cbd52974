#include "planner/joint_planner.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "planner/guarded_planning.h"
#include "planner/kinds/twins.h"
#include "planner/placement/proofs/fragments.h"
#include "planner/placer.h"

namespace stowage::planner {
namespace {

constexpr std::uint64_t kSharesWorthATwin = 256;  // of the lower bound
constexpr std::uint64_t kSharesOfTime = 4;        // where any good plan is wanted soon

Bytes bound_of(const Kinds& kinds, const JointOptions& options) {
  return placement::raised_bound(
      joint_problem(kinds, std::vector<bool>(kinds.kinds.size(), true), options.tenants).problem);
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
/// comes to nothing. Where any good plan is wanted soon, one that saves half of what twins can save will do.
Result<JointPlan> weigh_twins(const Kinds& kinds, const JointOptions& options, const std::stop_token& stop) {
  const Bytes bound = bound_of(kinds, options), least(bound.value() / kSharesWorthATwin);
  std::vector<bool> wanted;
  for (const Kind& kind : kinds.kinds) wanted.push_back(held_twice(kind) > least);
  if (std::count(wanted.begin(), wanted.end(), true) == 0) return place_jointly(kinds, options, stop);
  const Kinds twins = with_twins(kinds, wanted);
  const Bytes worth_it = has_twins(options.in_use) ? Bytes(1) : least, below = bound_of(twins, options);
  if (below + worth_it > bound) return place_jointly(kinds, options, stop);
  JointOptions soon = options;
  if (options.good_enough > 0) {
    soon.good_enough = std::max(options.good_enough, excess(bound - worth_it, below) / 2);
    soon.time_limit_s /= kSharesOfTime;
    soon.work_limit /= kSharesOfTime;
  }
  Result<JointPlan> made = place_jointly(twins, soon, stop);
  const bool will_do = made.ok() && has_twins(options.in_use) && made->height <= options.tolerable;
  if (will_do || (made.ok() && made->height + worth_it <= bound)) return made;
  if (!made.ok() && made.error().code == ErrorCode::kCancelled) return made;
  Result<JointPlan> without = place_jointly(kinds, options, stop);
  return without.ok() && (!made.ok() || without->height < made->height) ? without : made;
}

/// Every kind has a plan in use, and none a twin.
bool are_known(const Kinds& kinds, const std::vector<Plan>& in_use) {
  const auto is_known = [&](const Kind& kind) {
    return std::any_of(in_use.begin(), in_use.end(),
                       [&](const Plan& plan) { return plan.fingerprint == kind.fingerprint; });
  };
  return !has_twins(in_use) && std::all_of(kinds.kinds.begin(), kinds.kinds.end(), is_known);
}

/// Plans in use get no twins as long as they can be mended.
Result<JointPlan> place_kinds(const Kinds& kinds, const JointOptions& options, const std::stop_token& stop) {
  if (options.tolerable == Bytes(0) || !are_known(kinds, options.in_use))
    return weigh_twins(kinds, options, stop);
  Result<JointPlan> mended = place_jointly(kinds, options, stop);
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
