// What a programme over blocks does not keep, and what that leads to.
#include "planner/schedule/blocks/block_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/schedule/proofs/gaps.h"
#include "planner/schedule/search/rounds.h"
#include "planner/schedule/search/trials.h"
#include "tests/planner/schedule_logs.h"

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kSmallest = 1024;
constexpr std::uint64_t kPlenty = 1'000'000'000;

struct Job {
  explicit Job(const StepLog& log) : graph(*make_op_graph(log)), gaps(make_gaps(graph, kSmallest)) {
    peak = play(graph, {}).peak;
  }

  OpGraph graph;
  GapTable gaps;
  std::uint64_t peak;
};

TEST(BlockPlan, DropsMoreWhereThereIsLess) {
  const Job job(transformer(12));
  const BlockPlan plan(job.graph, job.gaps.needed, kSmallest);
  std::uint64_t dropped_before = 0;
  for (const std::uint64_t percent : {100u, 80u, 60u}) {
    const auto steps = plan.actions(job.peak * percent / 100, 0, 0);
    ASSERT_TRUE(steps) << percent;
    std::uint64_t dropped = 0;
    for (const Step& step : *steps) {
      EXPECT_EQ(step.kind, ActionKind::kEvict);
      dropped += job.graph.buffers[step.buffer].bytes;
    }
    EXPECT_TRUE(std::ranges::is_sorted(*steps, {}, &Step::op));
    EXPECT_GE(dropped + job.peak * percent / 100, job.peak) << "enough, over the op that needs most";
    if (percent < 100) {
      EXPECT_GT(dropped, dropped_before);
    }
    dropped_before = dropped;
  }
}

TEST(BlockPlan, OffloadsWhatTheOptimizerUsesToMakeRoom) {
  const Job job(optimized(12, 8, 16, 5));
  const BlockPlan plan(job.graph, job.gaps.needed, kSmallest);
  constexpr std::uint64_t kElsewhere = std::uint64_t{64} * 512;
  const auto steps = plan.actions(job.peak, kElsewhere, 0);
  ASSERT_TRUE(steps);
  std::uint64_t bytes = 0;
  for (const Step& step : *steps) {
    if (step.kind != ActionKind::kOffload) continue;
    EXPECT_TRUE(job.graph.buffers[step.buffer].lasts());
    bytes += job.graph.buffers[step.buffer].bytes;
  }
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(bytes, kElsewhere);
}

TEST(BlockPlan, SaysWhereNoChoiceFits) {
  const Job job(transformer(12));
  const BlockPlan plan(job.graph, job.gaps.needed, kSmallest);
  EXPECT_FALSE(plan.actions(job.peak / 20, 0, 0));
  const Job nothing(chain(1, 1));
  EXPECT_FALSE(BlockPlan(nothing.graph, nothing.gaps.needed, kSmallest).actions(nothing.peak, 0, 0));
}

TEST(BlockPlan, GivesSweepsAGoodBeginning) {
  const Job job(transformer(12));
  for (const std::uint64_t percent : {60u, 50u, 40u}) {
    const std::uint64_t budget = job.peak * percent / 100;
    const SearchLimits limits{.smallest = kSmallest, .work_limit = kPlenty, .stop = {}, .gaps = &job.gaps};
    std::uint64_t work = 0;
    Trials trials(job.graph, budget, limits, work);
    const std::optional<Found> blocks = trials.with_blocks();
    ASSERT_TRUE(blocks) << percent;
    EXPECT_LE(blocks->outcome.peak, budget);
    EXPECT_EQ(blocks->outcome.refused, 0u);
    const std::optional<Found> plain = trials.with_weights(kPlainWeights.front());
    ASSERT_TRUE(plain) << percent;
    EXPECT_LT(blocks->outcome.added_ns(), plain->outcome.added_ns()) << percent;
  }
}

TEST(BlockPlan, AnySeedIsPlayedWithinTheBudget) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Job job(random_log(seed, 50));
    const std::uint64_t budget = job.peak * (50 + seed % 40) / 100;
    const SearchLimits limits{.smallest = 0, .work_limit = kPlenty, .stop = {}, .gaps = &job.gaps};
    std::uint64_t work = 0;
    const std::optional<Found> found = Trials(job.graph, budget, limits, work).with_blocks();
    if (!found) continue;
    const Outcome again = play(job.graph, found->steps);
    EXPECT_LE(again.peak, budget) << seed;
    EXPECT_EQ(again.refused, 0u) << seed;
  }
}

}  // namespace
}  // namespace stowage::planner::schedule
