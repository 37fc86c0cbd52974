// Schedules of transformers from 100 to 20,000 ops: the scheduler's time on one thread, by budget.
//
// `above_bound`: how much longer than any schedule must recompute, by the bound, it recomputes; `rss`: the
// most memory that the process has had so far.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdint>

#include "planner/schedule/model/play.h"
#include "planner/schedule/scheduler.h"
#include "tests/planner/schedule_logs.h"

namespace stowage::planner::schedule {
namespace {

constexpr std::int64_t kPercent = 100;

double rss_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

/// Arguments: blocks of the transformer, and the budget in percent of the peak without evictions.
void schedule_a_transformer(benchmark::State& state) {
  const StepLog log = transformer(static_cast<std::uint32_t>(state.range(0)));
  const std::uint64_t plain = play(*make_op_graph(log), {}).peak;
  const Bytes budget(plain * static_cast<std::uint64_t>(state.range(1)) / kPercent);
  Schedule made;
  for (auto _ : state) {
    Result<Schedule> schedule = make_schedule(log, budget, {});
    if (!schedule) return state.SkipWithError(schedule.error().message.c_str());
    made = *std::move(schedule);
  }
  state.counters["ops"] = static_cast<double>(log.trace.ops.size());
  state.counters["replays"] = static_cast<double>(made.replays);
  state.counters["above_bound"] =
      static_cast<double>(made.replay_ns) / static_cast<double>(made.bound_ns) - 1;
  state.counters["rss"] =
      benchmark::Counter(rss_bytes(), benchmark::Counter::kDefaults, benchmark::Counter::OneK::kIs1024);
}
BENCHMARK(schedule_a_transformer)
    ->ArgNames({"blocks", "percent"})
    ->ArgsProduct({{4, 42, 209, 833}, {75, 50, 33}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stowage::planner::schedule
