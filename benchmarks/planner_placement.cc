// make_plan on made training traces: time, and how far the height is from its bound (1 is the bound).
#include <benchmark/benchmark.h>

#include "planner/planner.h"
#include "tests/planner/training_traces.h"

namespace stowage::planner {
namespace {

void plan_random_job(benchmark::State& state) {
  const Trace trace = training_trace(random_job(static_cast<std::size_t>(state.range(0)), 1));
  Plan plan;
  for (auto _ : state) {
    auto made = make_plan(trace, {});
    if (!made) return state.SkipWithError(made.error().message.c_str());
    plan = *std::move(made);
  }
  state.counters["buffers"] = static_cast<double>(plan.entries.size());
  state.counters["height/bound"] =
      static_cast<double>(plan.height.value()) / static_cast<double>(plan.lower_bound.value());
}
BENCHMARK(plan_random_job)->Arg(1000)->Arg(5000)->Arg(20000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace stowage::planner
