#include "session/planned/lower_plan.h"

#include <gtest/gtest.h>

#include "tests/session/planned/planned_job.h"

namespace stowage::session {
namespace {

/// Two blocks that are never alive together have places of their own, though one would do.
Plan wasteful() {
  Plan plan = plan_of(2);
  plan.lower_bound = Bytes(kBlock);
  return plan;
}

Plan lower() {
  Plan plan = plan_of(1);
  plan.entries.push_back(plan.entries[0]);
  plan.lower_bound = plan.height;
  return plan;
}

struct LowerPlanTest : testing::Test, PlannedJob {
  LowerPlanTest() {
    facts.keep_trace(std::make_shared<const Trace>());
    follow(wasteful());
  }
  LowerPlan plan{port, *budget, *arena, plans, guard, facts};
};

TEST_F(LowerPlanTest, IsAskedForAndUsedInPlace) {
  plan.ask(wasteful());
  EXPECT_TRUE(plans.makes_lower());
  EXPECT_FALSE(plan.take()) << "it is not there yet";
  release(request());
  release(request());
  allocator::PlannedAllocator* const before = &arena->allocator();
  asked.made = lower();
  EXPECT_TRUE(plan.take());
  EXPECT_EQ(&arena->allocator(), before);
  EXPECT_EQ(plans.last().height, Bytes(kBlock));
  EXPECT_EQ(facts.all().plans.size(), 1u);
  EXPECT_FALSE(plan.take()) << "once";
}

TEST_F(LowerPlanTest, IsNotAskedForWhereItCouldSaveNothing) {
  plan.ask(lower());
  Plan nearly = wasteful();
  nearly.lower_bound = nearly.height - Bytes(512);  // less than a page
  plan.ask(nearly);
  guard.trust_plan(true);
  plan.ask(wasteful());
  EXPECT_EQ(asked.times, 0);
}

TEST_F(LowerPlanTest, IsNotAskedForUnderABudget) {
  limit(100 * kBlock);
  LowerPlan under_budget(port, *budget, *arena, plans, guard, facts);
  under_budget.ask(wasteful());
  EXPECT_EQ(asked.times, 0);
}

TEST_F(LowerPlanTest, IsNoUseWhereItIsNotLowerOrCameTooLate) {
  plan.ask(wasteful());
  asked.made = wasteful();
  EXPECT_FALSE(plan.take());
  plan.ask(wasteful());
  plans.use_beside(plan_of(2));
  asked.made = lower();
  EXPECT_FALSE(plan.take()) << "another plan stands beside it";
  EXPECT_EQ(plans.count_in_use(), 2u);
}

TEST_F(LowerPlanTest, IsNotUsedInsideACapture) {
  plan.ask(wasteful());
  asked.made = lower();
  port.capturing = true;
  EXPECT_FALSE(plan.take());
}

}  // namespace
}  // namespace stowage::session
