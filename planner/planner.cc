#include "planner/planner.h"

#include <chrono>
#include <utility>

#include "planner/guarded_planning.h"
#include "planner/lifetimes.h"
#include "planner/placer.h"

namespace stowage::planner {
namespace {

using placement::Solution;

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
  const auto begun = std::chrono::steady_clock::now();
  if (Status status = check_options(options); !status) return status.error();
  const Placer placer(options, stop);
  Result<Lifetimes> lifetimes = find_lifetimes(trace);
  if (!lifetimes) return lifetimes.error();
  const placement::Problem& problem = lifetimes->problem;
  const Result<Solution> solution = placer.solve_near(problem, lower_bound(problem), 1);
  if (!solution) return solution.error();
  if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "planning was cancelled"};
  Plan plan = assemble(trace, std::move(lifetimes.value()), *solution);
  if (Status status = plan.validate(); !status) return Error{ErrorCode::kInvalidPlan, status.error().message};
  plan.planning_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begun).count());
  return plan;
}

}  // namespace

Result<Plan> make_plan(const Trace& trace, const PlanOptions& options, const std::stop_token& stop) {
  return guarded_planning<Plan>([&] { return make_plan_checked(trace, options, stop); });
}

}  // namespace stowage::planner
