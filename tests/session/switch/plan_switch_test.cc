#include "session/switch/plan_switch.h"

#include <gtest/gtest.h>

#include "tests/session/planned/planned_job.h"

namespace stowage::session {
namespace {

struct PlanSwitchTest : testing::Test, PlannedJob {
  SessionVerdict tried(const Plan& plan) {
    Result<SessionVerdict> verdict = plan_switch.try_plans(joint_of({plan}));
    EXPECT_TRUE(verdict.ok());
    return verdict.ok() ? *verdict : SessionVerdict{};
  }

  PlanUnderBudget under_budget{*budget, port, *arena, *lasting, facts};
  PlanWorth worth{*arena, plans, guard, room};
  PlanSwitch plan_switch{under_budget, worth, room, *arena};
};

TEST_F(PlanSwitchTest, MapsAnArenaThatHandsNothingOutYet) {
  EXPECT_EQ(tried(plan_of(3)).to, SessionState::kPlanned);
  EXPECT_TRUE(arena->exists());
  EXPECT_EQ(allocate(), nullptr);
  arena->resume();
  EXPECT_NE(allocate(), nullptr);
}

TEST_F(PlanSwitchTest, ReleasesWhatUpstreamCaches) {
  port.give_back(port.allocate(Bytes(kMib)));
  EXPECT_TRUE(tried(plan_of(3)).changes());
  EXPECT_EQ(port.upstream_use().reserved, Bytes(0));
}

TEST_F(PlanSwitchTest, AnInvalidPlanIsAnError) {
  Plan plan = plan_of(3);
  plan.height = Bytes(kBlock);
  EXPECT_FALSE(plan_switch.try_plans(joint_of({plan})).ok());
  EXPECT_FALSE(arena->exists());
}

TEST_F(PlanSwitchTest, AJobThatAllocatesNothingHasNoUseForOne) {
  EXPECT_EQ(tried(Plan()).to, SessionState::kOff);
}

TEST_F(PlanSwitchTest, WhatTheJobIsBetterOffWithoutIsNotMapped) {
  EXPECT_EQ(tried(plan_of(150 * kMib / kBlock)).to, SessionState::kOff);
  EXPECT_EQ(port.maps, 0);
}

TEST_F(PlanSwitchTest, WithoutMemoryForTheArenaItIsAnError) {
  port.no_memory = true;
  EXPECT_FALSE(plan_switch.try_plans(joint_of({plan_of(3)})).ok());
}

TEST_F(PlanSwitchTest, WaitsUntilTheOldArenaCanBePartedWith) {
  ASSERT_EQ(tried(plan_of(3)).to, SessionState::kPlanned);
  arena->resume();
  void* const old = allocate();
  arena->pause();
  port.capturing = true;
  EXPECT_FALSE(tried(plan_of(4)).changes());
  port.capturing = false;
  EXPECT_EQ(tried(plan_of(4)).to, SessionState::kPlanned);
  free(old);
}

TEST_F(PlanSwitchTest, UnderABudgetWhatDoesNotFitIsRescued) {
  limit(2 * kBlock);
  port.on_touch = false;
  PlanUnderBudget tight(*budget, port, *arena, *lasting, facts);
  PlanSwitch under_it(tight, worth, room, *arena);
  const Result<SessionVerdict> verdict = under_it.try_plans(joint_of({plan_of(3)}));
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->to, SessionState::kRescuing);
}

}  // namespace
}  // namespace stowage::session
