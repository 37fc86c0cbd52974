#include "planner/schedule/received_schedule.h"

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "planner/guarded_planning.h"
#include "planner/schedule/check/validator.h"
#include "planner/schedule/model/arena_height.h"
#include "planner/schedule/model/play.h"
#include "planner/schedule/proofs/overhead_bound.h"
#include "planner/schedule/scheduler.h"

namespace stowage::planner::schedule {
namespace {

/// By entry. Requires: the actions are those of a schedule for the graph's log.
std::vector<Step> steps_of(const OpGraph& graph, const std::vector<Action>& actions) {
  std::unordered_map<std::uint32_t, std::uint32_t> buffers;
  for (std::uint32_t b = 0; b < graph.buffers.size(); ++b) buffers[graph.buffers[b].entry] = b;
  std::vector<Step> steps;
  steps.reserve(actions.size());
  for (const Action& action : actions) steps.push_back({action.op, action.kind, buffers.at(action.entry)});
  return steps;
}

Result<Schedule> accept_checked(const StepLog& log, std::vector<Action> actions, Bytes budget,
                                const std::stop_token& stop) {
  Schedule schedule = schedule_of(log, std::move(actions));
  const Result<Verdict> verdict = validate_schedule(log, schedule, budget);
  if (!verdict) return verdict.error();
  schedule.replays = verdict->replays;
  schedule.replay_ns = verdict->replay_ns;
  schedule.copies = verdict->copies;
  schedule.copy_ns = verdict->copy_ns;
  schedule.wait_ns = verdict->wait_ns;
  schedule.peak = verdict->peak;
  const Result<OpGraph> graph = make_op_graph(log);
  if (!graph) return graph.error();
  schedule.bound_ns = least_added_ns(make_gaps(*graph, ScheduleOptions().smallest.value()), budget.value(),
                                     schedule.added_ns());
  std::vector<Span> spans;
  static_cast<void>(play(*graph, steps_of(*graph, schedule.actions), &spans));
  const Result<std::uint64_t> height = arena_height(spans, budget.value(), stop);
  if (!height) return height.error();
  schedule.height = Bytes(*height);
  schedule.received = true;
  return schedule;
}

}  // namespace

Result<Schedule> accept_schedule(const StepLog& log, std::vector<Action> actions, Bytes budget,
                                 const std::stop_token& stop) {
  return guarded_planning<Schedule>([&] { return accept_checked(log, std::move(actions), budget, stop); });
}

}  // namespace stowage::planner::schedule
