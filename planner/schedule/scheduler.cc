#include "planner/schedule/scheduler.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "planner/schedule/check/validator.h"
#include "planner/schedule/model/arena_height.h"
#include "planner/schedule/proofs/overhead_bound.h"
#include "planner/schedule/search/search.h"

namespace stowage::planner::schedule {
namespace {

/// With one decimal, so that a budget and a little more than it do not read alike.
std::string in_mebibytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMebi = 1u << 20u;
  constexpr std::uint64_t kKibi = 1u << 10u;
  if (bytes < 10 * kMebi) return std::to_string(bytes / kKibi) + " KiB";
  return std::to_string(bytes / kMebi) + "." + std::to_string(bytes % kMebi * 10 / kMebi) + " MiB";
}

Error too_small(const OpGraph& graph, const GapTable& gaps, std::uint64_t budget,
                const SearchLimits& limits) {
  const std::uint64_t plain = play(graph, {}).peak;
  const std::uint64_t bound = least_peak(gaps);
  const std::uint64_t least =
      least_budget(graph, std::clamp(budget, std::min(bound, plain), plain), plain, limits);
  const bool is_limited = graph.store_bytes < kMaxTotal.value();
  const std::string store = is_limited ? " and " + in_mebibytes(graph.store_bytes) + " in the store" : "";
  return Error{ErrorCode::kUnplannable, "no schedule keeps this iteration within " + in_mebibytes(budget) +
                                            store + ", and none can within less than " + in_mebibytes(bound) +
                                            "; the least budget for which one was found is " +
                                            in_mebibytes(least) + " (" + std::to_string(least) + " bytes)"};
}

Schedule to_schedule(const StepLog& log, const OpGraph& graph, const Found& found) {
  std::vector<Action> actions;
  for (const std::uint32_t buffer : left_away(graph, found.steps))  // the first iteration may begin otherwise
    actions.push_back({ActionKind::kOffload, 0, graph.buffers[buffer].entry});
  for (const Step& step : found.steps)
    actions.push_back({step.kind, step.op, graph.buffers[step.buffer].entry});
  Schedule schedule = schedule_of(log, std::move(actions));
  schedule.replays = found.outcome.replays;
  schedule.replay_ns = found.outcome.replay_ns;
  schedule.copies = found.outcome.copies;
  schedule.copy_ns = found.outcome.copy_ns;
  schedule.wait_ns = found.outcome.wait_ns;
  schedule.peak = Bytes(found.outcome.peak);
  return schedule;
}

// The model that the search went by and the validator know nothing of each other: they must agree.
Status check(const StepLog& log, const Schedule& schedule, Bytes budget) {
  const Result<Verdict> verdict = validate_schedule(log, schedule, budget);
  if (!verdict) return verdict.error();
  if (verdict->peak != schedule.peak || verdict->replays != schedule.replays ||
      verdict->copies != schedule.copies || verdict->wait_ns != schedule.wait_ns)
    return Error{ErrorCode::kInvalidPlan,
                 "the validator counts other bytes, ops, copies or waiting than the scheduler"};
  return {};
}

Result<Schedule> make_checked(const StepLog& log, Bytes budget, const ScheduleOptions& options,
                              const std::stop_token& stop) {
  const Result<OpGraph> graph = make_op_graph(log);
  if (!graph) return graph.error();
  const GapTable gaps = make_gaps(*graph, options.smallest.value());
  SearchLimits limits{options.smallest.value(), options.work_limit, options.seed, stop, &gaps};
  constexpr int kTightenings = 8;
  std::uint64_t bytes = budget.value();
  std::uint64_t work = 0;
  std::optional<Schedule> unplaced;
  std::optional<Found> nearby;
  for (int i = 0; i < kTightenings; ++i) {
    limits.nearby = nearby ? &*nearby : nullptr;
    std::optional<Found> found = search(*graph, bytes, limits, work);
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "scheduling was cancelled"};
    if (!found) break;
    Schedule schedule = to_schedule(log, *graph, *found);
    if (Status status = check(log, schedule, budget); !status) return status.error();
    schedule.bound_ns = least_added_ns(gaps, budget.value(), found->outcome.added_ns());
    if (!options.placed) return schedule;
    // A plan is not worth that much: without one rescue makes room now and then.
    if (unplaced && is_too_dear(schedule.added_ns(), unplaced->added_ns(), ops_ns(log))) break;
    std::vector<Span> spans;
    static_cast<void>(play(*graph, found->steps, &spans));
    const Result<std::uint64_t> height = arena_height(spans, budget.value(), stop);
    if (!height) return height.error();
    schedule.height = Bytes(*height);
    if (*height <= budget.value()) return schedule;
    if (options.or_unplaced && !unplaced) unplaced = schedule;
    const std::uint64_t excess = *height - budget.value();
    const std::uint64_t from = std::min(bytes, found->outcome.peak);
    bytes = from > excess ? from - excess : 0;
    nearby = std::move(found);
  }
  if (unplaced) return *std::move(unplaced);
  return too_small(*graph, gaps, budget.value(), limits);
}

}  // namespace

Result<Schedule> GreedyScheduler::make(const StepLog& log, Bytes budget, const ScheduleOptions& options,
                                       const std::stop_token& stop) const {
  return make_checked(log, budget, options, stop);
}

Result<Schedule> make_schedule(const StepLog& log, Bytes budget, const ScheduleOptions& options,
                               const std::stop_token& stop) {
  try {
    return GreedyScheduler().make(log, budget, options, stop);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, "the scheduler ran out of host memory"};
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInternal, std::string("the scheduler failed: ") + error.what()};
  }
}

}  // namespace stowage::planner::schedule
