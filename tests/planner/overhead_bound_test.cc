// Bounds on what schedules recompute and hold: below whatever any list of actions comes to, and close to it
// where the job is simple.
#include "planner/schedule/proofs/overhead_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/support/mix.h"
#include "planner/schedule/model/play.h"
#include "planner/schedule/scheduler.h"
#include "tests/planner/schedule_logs.h"

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kGranuleBytes = 512;

std::vector<Step> random_steps(const OpGraph& graph, std::uint64_t seed) {
  SplitMix lots(seed);
  const std::uint64_t rarity = 2 + lots.next() % 8;
  std::vector<Step> steps;
  for (std::uint32_t op = 0; op < graph.ops.size(); ++op) {
    for (std::uint32_t b = 0; b < graph.buffers.size(); ++b) {
      if (!graph.buffers[b].may_go || lots.next() % rarity != 0) continue;
      steps.push_back({op, lots.next() % 4 == 0 ? ActionKind::kRematerialize : ActionKind::kEvict, b});
      if (play(graph, steps).refused > 0) steps.pop_back();
    }
  }
  return steps;
}

StepLog any_log(std::uint64_t seed) {
  const auto size = static_cast<std::uint32_t>(seed / 4 % 6);
  if (seed % 4 == 0) return chain(3 + 2 * size, 4);
  if (seed % 4 == 1) return unet(2 + size / 2);
  if (seed % 4 == 2) return transformer(1 + size / 2);
  return random_log(seed, 4 + 5 * size);
}

TEST(OverheadBound, IsNeverAboveWhatRandomActionsComeTo) {
  std::uint64_t below_peak = 0, above_nothing = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Result<OpGraph> graph = make_op_graph(any_log(seed));
    ASSERT_TRUE(graph.ok());
    const Outcome plain = play(*graph, {}), outcome = play(*graph, random_steps(*graph, seed));
    const GapTable table = make_gaps(*graph, 0);
    ASSERT_LE(least_peak(table), outcome.peak) << seed;
    const std::uint64_t bound = least_added_ns(table, outcome.peak, outcome.replay_ns + 1);
    ASSERT_LE(bound, outcome.replay_ns) << seed;
    below_peak += outcome.peak < plain.peak ? 1 : 0;
    above_nothing += bound > 0 ? 1 : 0;
  }
  EXPECT_GT(below_peak, 250u);
  EXPECT_GT(above_nothing, 150u);
}

TEST(OverheadBound, IsNeverAboveASchedule) {
  for (const StepLog& log : {chain(40, 8), unet(5), transformer(6)}) {
    const Result<OpGraph> graph = make_op_graph(log);
    const std::uint64_t whole = play(*graph, {}).peak;
    std::uint64_t before = 0;
    for (const std::uint64_t percent : {95u, 85u, 75u, 65u, 55u}) {
      ScheduleOptions options;
      options.smallest = Bytes(0);
      options.work_limit = 20'000'000;
      options.placed = false;
      const Bytes budget(whole * percent / 100);
      const Result<Schedule> made = make_schedule(log, budget, options);
      ASSERT_TRUE(made.ok()) << made.error().message;
      EXPECT_LE(made->bound_ns, made->replay_ns) << percent;
      EXPECT_GE(made->bound_ns, before) << "less memory takes no less time " << percent;
      EXPECT_LE(least_peak(make_gaps(*graph, 0)), budget.value());
      before = made->bound_ns;
    }
    EXPECT_GT(before, 0u);
  }
}

/// `count` values that are made from what stays and used once each at the end, in turn.
StepLog independent(const std::vector<std::uint64_t>& costs_us, std::uint64_t granules) {
  LogBuilder builder;
  const std::uint32_t x = builder.before(1);
  std::vector<std::uint32_t> made;
  for (const std::uint64_t cost : costs_us) made.push_back(builder.op({x}, granules, cost));
  const std::uint32_t large = builder.op({x}, 10 * granules, 1);
  static_cast<void>(builder.op({large}, 1, 1));
  builder.free(large);
  for (const std::uint32_t one : made) {
    static_cast<void>(builder.op({one}, 1, 1));
    builder.free(one);
  }
  return builder.build();
}

TEST(OverheadBound, IsExactWhereValuesHaveNothingInCommon) {
  const StepLog log = independent({50, 10, 40, 20, 30}, 8);
  const Result<OpGraph> graph = make_op_graph(log);
  const std::uint64_t peak = play(*graph, {}).peak;
  const GapTable table = make_gaps(*graph, 0);
  constexpr std::uint64_t kValue = 8 * kGranuleBytes;
  const std::vector<std::uint64_t> least_us = {0, 10, 30, 60, 100, 150};  // the cheapest go first
  for (std::size_t out = 0; out < least_us.size(); ++out) {
    const std::uint64_t bound = least_added_ns(table, peak - out * kValue, 1'000'000);
    EXPECT_LE(bound, least_us[out] * 1000);
    EXPECT_GE(bound + 10, least_us[out] * 1000) << out;
  }
  EXPECT_EQ(least_peak(table), peak - 5 * kValue);
}

// The dead values below it are made again for no other one.
TEST(OverheadBound, CountsWhatIsDeadOnTheWay) {
  LogBuilder builder;
  const std::uint32_t x = builder.before(1);
  const std::uint32_t first = builder.op({x}, 8, 100), second = builder.op({first}, 8, 200);
  builder.free(first);
  const std::uint32_t large = builder.op({x}, 80, 1);
  builder.free(large);
  static_cast<void>(builder.op({second}, 1, 1));
  builder.free(second);
  const StepLog log = builder.build();
  const Result<OpGraph> graph = make_op_graph(log);
  const std::uint64_t peak = play(*graph, {}).peak;
  const std::uint64_t bound = least_added_ns(make_gaps(*graph, 0), peak - 8 * kGranuleBytes, 1'000'000);
  EXPECT_NEAR(static_cast<double>(bound), 300'000, 10);
}

}  // namespace
}  // namespace stowage::planner::schedule
