// Placement from 1,000 to 1,000,000 buffers: time, and how far the height is from its bound (1 is the bound);
// and what replan() costs as a share of placing anew.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "planner/lifetimes.h"
#include "planner/placement/greedy.h"
#include "planner/placement/replan.h"
#include "planner/planner.h"
#include "tests/planner/training_traces.h"

namespace stowage::planner {
namespace {

void count(benchmark::State& state, std::size_t buffers, Bytes height, Bytes bound) {
  state.counters["buffers"] = static_cast<double>(buffers);
  state.counters["height/bound"] = static_cast<double>(height.value()) / static_cast<double>(bound.value());
}

void plan_random_job(benchmark::State& state) {
  const Trace trace = training_trace(random_job(static_cast<std::size_t>(state.range(0)), 1));
  Plan plan;
  for (auto _ : state) {
    auto made = make_plan(trace, {});
    if (!made) return state.SkipWithError(made.error().message.c_str());
    plan = *std::move(made);
  }
  count(state, plan.entries.size(), plan.height, plan.lower_bound);
}
BENCHMARK(plan_random_job)->Arg(1000)->Arg(5000)->Arg(20000)->Unit(benchmark::kMillisecond)->UseRealTime();

/// A GPT in micro-batches; second argument: of different lengths; third: the tolerance in millionths.
void place_micro_batches(benchmark::State& state) {
  const Job job = gpt_in_micro_batches(static_cast<std::size_t>(state.range(0)), 24, state.range(1) != 0);
  const auto lifetimes = find_lifetimes(training_trace(job));
  if (!lifetimes) return state.SkipWithError(lifetimes.error().message.c_str());
  placement::GreedyOptions options;
  options.tolerance = static_cast<double>(state.range(2)) * 1e-6;
  placement::Solution solution;
  for (auto _ : state) {
    auto placed = place_greedily(lifetimes->problem, options);
    if (!placed) return state.SkipWithError(placed.error().message.c_str());
    solution = *std::move(placed);
  }
  count(state, lifetimes->problem.items.size(), solution.height, solution.lower_bound);
}
BENCHMARK(place_micro_batches)
    ->ArgNames({"buffers", "varied", "tolerance_ppm"})
    ->ArgsProduct({{100'000, 1'000'000}, {0, 1}, {0, 5000}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// One in a hundred buffers dies earlier and a few small ones are new.
void replan_after_a_small_change(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  const Job job = random_job(static_cast<std::size_t>(state.range(0)), 1);
  const auto lifetimes = find_lifetimes(training_trace(job));
  if (!lifetimes) return state.SkipWithError(lifetimes.error().message.c_str());
  const placement::Problem& before = lifetimes->problem;
  const auto solution = place_greedily(before, {});
  placement::Problem after = before;
  for (std::size_t i = 0; i < after.items.size(); i += 100) {
    placement::Item& item = after.items[i];
    item.size = Bytes(std::max<std::uint64_t>(item.size.value() / 1024, 1) * 512);
  }
  Clock::duration anew{0}, changed{0};
  placement::Replanned replanned;
  for (auto _ : state) {
    const auto begun = Clock::now();
    benchmark::DoNotOptimize(place_greedily(after, {}));
    const auto between = Clock::now();
    auto made = replan(after, carry_over(before, *solution, after), solution->height, {});
    if (!made) return state.SkipWithError(made.error().message.c_str());
    replanned = *std::move(made);
    anew += between - begun;
    changed += Clock::now() - between;
  }
  count(state, after.items.size(), replanned.solution.height, replanned.solution.lower_bound);
  state.counters["moved"] = static_cast<double>(replanned.moved);
  state.counters["replan/anew"] = static_cast<double>(changed.count()) / static_cast<double>(anew.count());
}
BENCHMARK(replan_after_a_small_change)->Arg(2000)->Arg(20000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace stowage::planner
