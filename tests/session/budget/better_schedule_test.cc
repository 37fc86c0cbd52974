// A better schedule is looked for while the first one is followed.
#include "tests/session/budget/scheduled_job.h"

namespace stowage::session {
namespace {

using BetterScheduleTest = ScheduledJob;

TEST_F(BetterScheduleTest, WhileOneIsFollowedABetterOneIsLookedFor) {
  better_ns_ = 3 * kOpNs;
  until_followed();
  const std::uint64_t first = budget_.number();
  EXPECT_EQ(budget_.facts().recompute_ns, 7 * kOpNs);
  followed();
  EXPECT_EQ(asked_more_, 1u);
  EXPECT_EQ(budget_.facts().recompute_ns, 3 * kOpNs);
  EXPECT_EQ(budget_.facts().improved, 1u);
  EXPECT_NE(budget_.number(), first);
  for (int i = 0; i < 3; ++i) followed();
  EXPECT_EQ(asked_more_, 1u);
  EXPECT_EQ(asked_most_, 1u) << "the longest search finds none that is better still";
  EXPECT_EQ(budget_.facts().improved, 1u);
  EXPECT_TRUE(budget_.is_steady());
  EXPECT_EQ(budgets_.size(), 1u);
}

TEST_F(BetterScheduleTest, TheLongestSearchComesBehindTheLongerOne) {
  better_ns_ = 5 * kOpNs;
  best_ns_ = 3 * kOpNs;
  until_followed();
  followed();
  EXPECT_EQ(budget_.facts().recompute_ns, 5 * kOpNs);
  followed();
  EXPECT_EQ(budget_.facts().recompute_ns, 3 * kOpNs);
  EXPECT_EQ(budget_.facts().improved, 2u);
  followed();
  EXPECT_EQ(asked_more_, 1u);
  EXPECT_EQ(asked_most_, 1u);
}

TEST_F(BetterScheduleTest, TheLongestSearchIsAskedThoughTheLongerOneFoundNothing) {
  best_ns_ = 3 * kOpNs;
  until_followed();
  followed();
  EXPECT_EQ(budget_.facts().improved, 0u);
  followed();
  EXPECT_EQ(budget_.facts().recompute_ns, 3 * kOpNs);
}

TEST_F(BetterScheduleTest, WhereRescueCostsLessTheSearchGoesOnOnce) {
  made_ns_ = {100 * kOpNs};
  better_ns_ = 6 * kOpNs;
  until_followed();
  EXPECT_FALSE(torch_.follows);
  rescued();
  EXPECT_TRUE(torch_.follows);
  EXPECT_EQ(budget_.facts().recompute_ns, 6 * kOpNs);
  followed();
  EXPECT_EQ(asked_more_, 0u);
  EXPECT_EQ(asked_most_, 1u);
}

TEST_F(BetterScheduleTest, AReceivedOneIsImprovedLikeOneMadeHere) {
  received_ = 1;
  better_ns_ = 3 * kOpNs;
  until_followed();
  followed();
  EXPECT_EQ(asked_more_, 1u);
  EXPECT_EQ(budget_.facts().improved, 1u);
}

TEST_F(BetterScheduleTest, NoBetterOneIsLookedForWhereThereIsHardlyAny) {
  bound_ns_ = 7 * kOpNs - kOpNs / 200;
  until_followed();
  followed();
  EXPECT_EQ(asked_more_ + asked_most_, 0u);
}

TEST_F(BetterScheduleTest, UnderAPlanALittleBetterIsNotGoodEnough) {
  better_ns_ = 7 * kOpNs - kOpNs / 4;
  until_followed();
  budget_.hold(true);
  followed();
  EXPECT_TRUE(budget_.is_steady()) << "no plan waits for a better one";
  EXPECT_EQ(asked_more_, 1u);
  EXPECT_EQ(budget_.facts().recompute_ns, 7 * kOpNs);
}

TEST_F(BetterScheduleTest, UnderAPlanOneIsFollowedThatMakesIterationsATwentiethShorter) {
  better_ns_ = 5 * kOpNs;
  until_followed();
  const std::uint64_t first = budget_.number();
  budget_.hold(true);
  followed();
  EXPECT_EQ(budget_.facts().recompute_ns, 5 * kOpNs);
  EXPECT_NE(budget_.number(), first) << "so the session plans again";
}

TEST_F(BetterScheduleTest, OneThatHasNoArenaIsFollowedOnlyIfItIsMuchBetter) {
  better_height_ = kLimit + kLimit;
  better_ns_ = 6 * kOpNs;
  until_followed();
  followed();
  EXPECT_EQ(asked_more_, 1u);
  EXPECT_EQ(budget_.facts().improved, 0u);
  EXPECT_TRUE(budget_.has_arena());
}

TEST_F(BetterScheduleTest, OneThatIsMuchBetterIsFollowedWithoutAnArena) {
  better_height_ = kLimit + kLimit;
  better_ns_ = 3 * kOpNs;
  until_followed();
  followed();
  EXPECT_EQ(budget_.facts().improved, 1u);
  EXPECT_FALSE(budget_.has_arena());
}

TEST_F(BetterScheduleTest, WhatDoesNotFitIsReplacedBeforeABetterOneIsThere) {
  until_followed();
  ASSERT_TRUE(budget_.tighten(Bytes(1000), kLimit));
  followed();
  EXPECT_EQ(budgets_.size(), 2u);
  EXPECT_EQ(budget_.facts().tightened, 1u);
}

TEST_F(BetterScheduleTest, AScheduleThatRecomputesMuchLongerThanRescueIsNotFollowed) {
  rescue(5);
  better_ns_ = 7 * kOpNs;
  until_followed();
  rescued();
  EXPECT_EQ(asked_more_, 0u);
  EXPECT_EQ(asked_most_, 1u);
  EXPECT_FALSE(torch_.follows);
  EXPECT_EQ(budget_.facts().reason,
            "rescue recomputes for 0.500 ms in an iteration, the schedule would recompute for 0.700 ms");
}

}  // namespace
}  // namespace stowage::session
