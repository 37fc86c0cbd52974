#include "planner/joint_task.h"

#include <algorithm>
#include <utility>

#include "planner/kinds/large_first.h"
#include "planner/kinds/regions.h"
#include "planner/placement/proofs/raised_bound.h"

namespace stowage::planner {

using placement::Problem;
using placement::Solution;

JointTask::JointTask(const Kinds& kinds, const JointOptions& options, const std::stop_token& stop)
    : kinds_(kinds),
      options_(options),
      placer_(options, stop),
      bound_(placement::lower_bound(whole().problem)) {}

JointProblem JointTask::problem_of(const std::vector<bool>& members) const {
  JointProblem made = joint_problem(kinds_, members, options_.tenants);
  keep_regions(options_.in_use, options_.claimed, made.problem);
  return made;
}

void JointTask::raise_bound() {
  if (!std::exchange(is_raised_, true)) bound_ = raised_bound(whole().problem);
}

Bytes JointTask::enough() const { return std::max(placer_.enough(bound_), options_.tolerable); }

bool JointTask::will_do(Bytes height) {
  if (height > enough()) raise_bound();
  return height <= enough();
}

std::optional<Solution> JointTask::solve_large_first(Problem whole) const {
  const std::optional<LargePart> large = large_part(whole, bound_);
  if (!large) return std::nullopt;
  const Bytes room = saturating_sub(enough(), large->bound_of_rest);
  const Result<Solution> first = placer_.solve(large->problem, kLargeFirst, std::max(large->bound, room));
  if (!first) return std::nullopt;
  for (std::size_t i = 0; i < large->items.size(); ++i)
    whole.items[large->items[i]].fixed = first->offsets[i];
  Result<Solution> all = placer_.solve(std::move(whole), kSmallAfter, enough());
  return all.ok() ? std::optional(*std::move(all)) : std::nullopt;
}

}  // namespace stowage::planner
