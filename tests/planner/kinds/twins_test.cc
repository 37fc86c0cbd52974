#include "planner/kinds/twins.h"

#include <gtest/gtest.h>

#include "planner/joint_planner.h"
#include "planner/kinds/joint_problem.h"
#include "tests/planner/kinds/automata.h"
#include "tests/planner/trace_builder.h"

namespace stowage::planner {
namespace {

constexpr std::uint64_t kBatch = 1 << 20;
constexpr std::uint64_t kActivation = 3 << 20;

/// Each iteration's batch is alive until the next one's is there; every third iteration evaluates, too.
Trace loop_with_a_batch(int iterations, bool evaluates = false) {
  TraceBuilder job;
  job.mark();
  std::optional<std::uint32_t> before;
  for (int i = 0; i < iterations; ++i) {
    const std::uint32_t batch = job.alloc(kBatch);
    if (before) job.free(*before);
    before = batch;
    const std::uint32_t activation = job.alloc(kActivation);
    job.free(activation);
    job.mark();
    if (!evaluates || i % 3 != 2) continue;
    const std::uint32_t metric = job.alloc(kBatch / 2);
    job.free(metric);
    job.mark();
  }
  return job.take(Tick(0), Tick(1), job.now());
}

Bytes bound(const Kinds& kinds) {
  return lower_bound(joint_problem(kinds, std::vector<bool>(kinds.kinds.size(), true), {}).problem);
}

TEST(Twins, WhatAKindWouldHoldTwiceIsHeldOnce) {
  const Kinds kinds = kinds_of(loop_with_a_batch(8));
  ASSERT_EQ(kinds.kinds.size(), 1u);
  EXPECT_EQ(held_twice(kinds.kinds[0]), Bytes(kBatch));
  EXPECT_EQ(bound(kinds), Bytes(kActivation + 2 * kBatch));
  const Kinds twins = with_twins(kinds, {true});
  ASSERT_EQ(twins.kinds.size(), 2u);
  EXPECT_EQ(held_twice(twins.kinds[1]), Bytes(0));
  EXPECT_EQ(bound(twins), Bytes(kActivation + kBatch));
}

TEST(Twins, TheyTakeTurnsAcrossOtherKinds) {
  const Kinds kinds = kinds_of(loop_with_a_batch(8, /*evaluates=*/true));
  ASSERT_EQ(kinds.kinds.size(), 2u);
  const Kinds twins = with_twins(kinds, {true, false});
  ASSERT_EQ(twins.kinds.size(), 3u);
  EXPECT_EQ(twins.history, (std::vector<std::uint32_t>{0, 1, 0, 2, 1, 0, 1, 2, 0, 1}));
  for (const Transition& transition : twins.transitions)
    EXPECT_FALSE(transition.from == transition.to && transition.to < 2);
  EXPECT_EQ(bound(twins), Bytes(kActivation + kBatch));
}

TEST(Twins, NothingChangesWhereNoneIsWanted) {
  const Kinds kinds = kinds_of(loop_with_a_batch(8, /*evaluates=*/true));
  EXPECT_EQ(with_twins(kinds, {false, false}), kinds);
}

TEST(Twins, PlansHaveThemWhereTheySaveMemory) {
  JointOptions options;
  options.time_limit_s = 60;
  const Kinds kinds = kinds_of(loop_with_a_batch(8));
  const Result<JointPlan> made = make_plans(kinds, options);
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made->plans.size(), 2u);
  EXPECT_EQ(made->plans[0].fingerprint, made->plans[1].fingerprint);
  EXPECT_EQ(made->height, Bytes(kActivation + kBatch));
  options.in_use = made->plans;
  const Result<JointPlan> again = make_plans(kinds, options);
  ASSERT_TRUE(again.ok());
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(again->plans[i].entries, made->plans[i].entries);
}

TEST(Twins, AFirstPlanMaySaveHalfOfWhatTheyCanButALowerOneIsSoughtToItsEnd) {
  JointOptions options;
  options.time_limit_s = 60;
  options.good_enough = 0.001;
  const Kinds kinds = kinds_of(loop_with_a_batch(8));
  Result<JointPlan> made = make_plans(kinds, options);
  ASSERT_TRUE(made.ok());
  for (Plan& plan : made->plans) {
    for (PlanEntry& entry : plan.entries) entry.offset = entry.offset + Bytes(kBatch / 4);
    plan.height += Bytes(kBatch / 4);
  }
  options.in_use = made->plans;
  const Result<JointPlan> lower = make_plans(kinds, options);
  ASSERT_TRUE(lower.ok());
  EXPECT_EQ(lower->height, Bytes(kActivation + kBatch));
}

}  // namespace
}  // namespace stowage::planner
