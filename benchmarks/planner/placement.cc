// Placement from 1,000 to 1,000,000 buffers: time, and how far the height is from its bound (1 is the bound);
// what replan() costs as a share of placing anew; and how long a stop takes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "core/support/mix.h"
#include "planner/lifetimes.h"
#include "planner/placement/greedy/greedy.h"
#include "planner/placement/replan.h"
#include "planner/placement/solve.h"
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

/// Stops tried in stop_a_placement.
constexpr std::uint64_t kStops = 24;

placement::Problem problem_to_stop(std::size_t buffers, int kind) {
  if (kind == 3) return find_lifetimes(training_trace(gpt_in_micro_batches(buffers, 24, true)))->problem;
  SplitMix random(5);
  placement::Problem problem;
  for (std::uint32_t i = 0; i < buffers; ++i) {
    placement::Item item;
    item.birth = random.next() % (buffers / 4);
    item.death = item.birth + 2 + random.next() % 100;
    item.size = Bytes(1 + random.next() % 1000);
    item.alignment = Bytes(1);
    problem.items.push_back(item);
    if (kind == 2 && i % 3 == 0)
      problem.gaps.push_back({i, item.birth + 1, item.death, Bytes(0), Bytes(item.size.value() / 2)});
  }
  if (kind != 1) return problem;
  placement::GreedyOptions quick;
  quick.limits.work_limit = 1;
  const auto placed = place_greedily(problem, quick);
  for (std::size_t i = 0; i < buffers; i += 2) problem.items[i].fixed = placed->offsets[i];
  return problem;
}

/// One buffer in so many (the second argument) has another size, larger and smaller in turn. replan/anew is
/// of CPU times, on one thread, and of placements that are validated.
void replan_after_a_small_change(benchmark::State& state) {
  const Job job = gpt_in_micro_batches(static_cast<std::size_t>(state.range(0)), 24, true);
  const auto every = static_cast<std::size_t>(state.range(1));
  const auto lifetimes = find_lifetimes(training_trace(job));
  if (!lifetimes) return state.SkipWithError(lifetimes.error().message.c_str());
  const placement::Problem& before = lifetimes->problem;
  const auto solution = place_greedily(before, {});
  placement::Problem after = before;
  for (std::size_t i = 0; i < after.items.size(); i += every) {
    const Bytes size = after.items[i].size;
    after.items[i].size = i % (2 * every) == 0 ? size + Bytes(512) : Bytes(size.value() / 1024 * 512 + 512);
  }
  std::clock_t anew = 0, changed = 0;
  placement::PlaceOptions once;
  once.threads = 1;
  once.work_limit = 20'000'000;
  placement::ReplanOptions again;
  again.greedy.threads = 1;
  placement::Replanned replanned;
  std::uint64_t work_anew = 1;
  for (auto _ : state) {
    const std::clock_t begun = std::clock();
    const auto placed = place(after, once);
    if (!placed) return state.SkipWithError(placed.error().message.c_str());
    work_anew = placed->work;
    const std::clock_t between = std::clock();
    auto made = replan(after, carry_over(before, *solution, after), solution->height, again);
    if (!made) return state.SkipWithError(made.error().message.c_str());
    replanned = *std::move(made);
    anew += between - begun;
    changed += std::clock() - between;
  }
  count(state, after.items.size(), replanned.solution.height, replanned.solution.lower_bound);
  state.counters["step"] = replanned.step;
  state.counters["moved"] = static_cast<double>(replanned.moved);
  state.counters["replan/anew"] = static_cast<double>(changed) / static_cast<double>(anew);
  state.counters["work/anew"] = static_cast<double>(replanned.solution.work) / static_cast<double>(work_anew);
}
BENCHMARK(replan_after_a_small_change)
    ->ArgNames({"buffers", "every"})
    ->ArgsProduct({{12'000, 50'000}, {1000, 100}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// How long place() goes on after a stop, at most, over stops at all times of a solve; in ms, by the clock
/// and of processor time, which other work on the machine holds up less. Kind 0: a hard problem of random
/// lives; 1: half of them fixed; 2: with gaps; 3: a GPT in micro-batches.
void stop_a_placement(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  const auto size = static_cast<std::size_t>(state.range(0));
  const placement::Problem problem = problem_to_stop(size, static_cast<int>(state.range(1)));
  std::uint64_t looks = 0;
  placement::PlaceOptions options;
  options.work_limit = 400'000'000;
  options.on_look = [&](std::uint64_t) { ++looks; };
  options.threads = 1;
  benchmark::DoNotOptimize(place(problem, options));
  const std::uint64_t total = looks;
  double most = 0, most_cpu = 0;
  for (auto _ : state) {
    for (std::uint64_t part = 0; part < kStops; ++part) {
      std::stop_source source;
      Clock::time_point asked;
      std::clock_t asked_cpu = 0;
      looks = 0;
      const std::uint64_t when = part * total / kStops;
      options.stop = source.get_token();
      // Asked for right behind a look, the worst time, so that only the next one heeds it.
      options.on_look = [&](std::uint64_t) {
        if (looks++ == when) asked = Clock::now(), asked_cpu = std::clock();
        if (looks > when + 1) source.request_stop();
      };
      benchmark::DoNotOptimize(place(problem, options));
      if (asked == Clock::time_point()) continue;
      most = std::max(most, std::chrono::duration<double, std::milli>(Clock::now() - asked).count());
      most_cpu = std::max(most_cpu, 1e3 * static_cast<double>(std::clock() - asked_cpu) / CLOCKS_PER_SEC);
    }
  }
  state.counters["buffers"] = static_cast<double>(problem.items.size());
  state.counters["most_ms"] = most;
  state.counters["most_cpu_ms"] = most_cpu;
}
BENCHMARK(stop_a_placement)
    ->ArgNames({"buffers", "kind"})
    ->ArgsProduct({{3'000, 20'000, 1'000'000}, {0, 2, 3}})
    ->ArgsProduct({{3'000, 20'000, 100'000}, {1}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace stowage::planner
