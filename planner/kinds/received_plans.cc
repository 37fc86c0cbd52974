#include "planner/kinds/received_plans.h"

#include <algorithm>
#include <string>
#include <utility>

#include "planner/kinds/regions.h"
#include "planner/kinds/twins.h"
#include "planner/placement/problem/validator.h"
#include "planner/placement/proofs/raised_bound.h"

namespace stowage::planner {
namespace {

Error rejected(const std::string& what) {
  return Error{ErrorCode::kInvalidPlan, "a received plan is not for this job: " + what};
}

Status compare(const Kind& kind, DeviceKind device, const Plan& plan) {
  if (plan.device != device || plan.fingerprint != kind.fingerprint) return rejected("it is for another one");
  if (!plan.inner_marks.empty() || plan.entries.size() != kind.allocations.size())
    return rejected("it has other entries");
  for (std::size_t k = 0; k < plan.entries.size(); ++k) {
    const PlanEntry& entry = plan.entries[k];
    const Allocation& allocation = kind.allocations[k];
    if (entry.rounded != allocation.rounded || entry.stream != allocation.stream)
      return rejected("its entry " + std::to_string(k) + " is another one");
    const LifeClass life = class_of(allocation);
    const bool placed =
        entry.offset != kUpstream && (life != LifeClass::kTwoSlots || entry.spare != kUpstream);
    if (life != LifeClass::kUpstream && !placed)
      return rejected("its entry " + std::to_string(k) + " has no place for all that is alive at one time");
  }
  return {};
}

/// Makes the plan this process's own, but for the places that the allocations need.
void take_over(const Kind& kind, Plan& plan) {
  plan.height = Bytes(0);
  for (std::size_t k = 0; k < plan.entries.size(); ++k) {
    PlanEntry& entry = plan.entries[k];
    const Allocation& allocation = kind.allocations[k];
    const LifeClass life = class_of(allocation);
    entry.crosses = allocation.crosses;
    entry.death = allocation.death;
    if (life == LifeClass::kUpstream) entry.offset = kUpstream;
    if (life != LifeClass::kTwoSlots) entry.spare = kUpstream;
    for (const Offset offset : {entry.offset, entry.spare}) {
      if (offset != kUpstream) plan.height = std::max(plan.height, offset + entry.rounded - Offset(0));
    }
  }
}

placement::Solution solution_of(const JointProblem& whole, const std::vector<Plan>& plans) {
  placement::Solution solution;
  for (const JointSlot& slot : whole.slots) {
    const PlanEntry& entry = plans[slot.kind].entries[slot.allocation];
    solution.offsets.push_back(slot.spare ? entry.spare : entry.offset);
  }
  for (std::size_t i = whole.slots.size(); i < whole.problem.items.size(); ++i)
    solution.offsets.push_back(*whole.problem.items[i].fixed);
  solution.height = placement::height_of(whole.problem, solution.offsets);
  solution.lower_bound = std::min(placement::raised_bound(whole.problem), solution.height);
  solution.proved_optimal = solution.lower_bound == solution.height;
  return solution;
}

/// As make_plans() does; `all`: the bound of all kinds together.
void set_bound(const Kinds& kinds, std::size_t kind, Bytes all, Plan& plan) {
  std::vector<bool> alone(kinds.kinds.size(), false);
  alone[kind] = true;
  const Bytes bound =
      alone.size() == 1 ? all : placement::lower_bound(joint_problem(kinds, alone, {}).problem);
  plan.lower_bound = std::min(bound, plan.height);
  plan.proved_optimal = plan.lower_bound == plan.height;
}

/// With the twins that `plans` have.
Kinds unrolled_like(const std::vector<Plan>& plans, const Kinds& kinds) {
  std::vector<bool> wanted;
  std::size_t at = 0;
  for (const Kind& kind : kinds.kinds) {
    ++at;
    wanted.push_back(at < plans.size() && plans[at].fingerprint == kind.fingerprint);
    if (wanted.back()) ++at;
  }
  return with_twins(kinds, wanted);
}

}  // namespace

Result<JointPlan> accept_plans(const Kinds& of_job, DeviceKind device, const std::vector<Plan>& in_use,
                               const std::vector<Tenant>& tenants, const std::vector<StreamRange>& claimed,
                               std::vector<Plan> plans) {
  const Kinds kinds = unrolled_like(plans, of_job);
  if (plans.empty() || plans.size() != kinds.kinds.size())
    return rejected("it has other kinds of iterations");
  for (std::size_t kind = 0; kind < plans.size(); ++kind) {
    Plan& plan = plans[kind];
    if (Status same = compare(kinds.kinds[kind], device, plan); !same) return same.error();
    take_over(kinds.kinds[kind], plan);
    plan.lower_bound = Bytes(0);  // until it is known
    if (Status valid = plan.validate(); !valid) return valid.error();
  }
  JointProblem whole = joint_problem(kinds, std::vector<bool>(plans.size(), true), tenants);
  keep_regions(in_use, claimed, whole.problem);
  const placement::Solution solution = solution_of(whole, plans);
  if (Status valid = placement::validate(whole.problem, solution); !valid) return valid.error();
  JointPlan made{std::move(plans), kinds.history, Bytes(0), Bytes(0)};
  for (std::size_t kind = 0; kind < made.plans.size(); ++kind) {
    set_bound(kinds, kind, solution.lower_bound, made.plans[kind]);
    made.height = std::max(made.height, made.plans[kind].height);
  }
  made.lower_bound = std::min(solution.lower_bound, made.height);
  return made;
}

}  // namespace stowage::planner
