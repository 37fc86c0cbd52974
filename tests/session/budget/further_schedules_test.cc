// Schedules for the kinds of iterations that come now and then.
#include "session/budget/further_schedules.h"

#include <gtest/gtest.h>

#include "tests/session/budget/scheduled_job.h"

namespace stowage::session {
namespace {

using FurtherSchedulesTest = ScheduledJob;

TEST_F(FurtherSchedulesTest, OneThatIsLeftNowAndThenStaysAndTheOtherKindGetsAScheduleToo) {
  until_followed();
  for (int i = 0; i < 2; ++i) {
    for (int times = 0; times < 5; ++times) followed();
    differing();
  }
  EXPECT_TRUE(torch_.follows);
  for (int times = 0; times < 4; ++times) followed();
  EXPECT_EQ(torch_.recordings, 1);
  followed();
  EXPECT_FALSE(budget_.is_steady());
  EXPECT_EQ(torch_.recordings, 2) << "the third one";
  torch_.iteration.emplace(of_other_ops());
  differing();
  EXPECT_EQ(budget_.kinds(), 1u);
  followed();
  EXPECT_EQ(budget_.kinds(), 2u);
  EXPECT_EQ(budget_.facts().kinds, 2u);
  EXPECT_EQ(torch_.followed, 2);
  EXPECT_EQ(budgets_, (std::vector<Bytes>{budgets_[0], budgets_[0]}));
  for (int i = 0; i < 10; ++i) followed();
  EXPECT_TRUE(budget_.is_steady());
  EXPECT_EQ(torch_.recordings, 2);
  budget_.stop();
  EXPECT_EQ(budget_.kinds(), 0u);
}

TEST_F(FurtherSchedulesTest, WhatComesAtNoIntervalIsLookedForInOneIterationAfterTheOther) {
  until_followed();
  followed(), differing();
  for (int i = 0; i < 4; ++i) followed();
  differing();
  for (int i = 0; i < 4; ++i) followed();
  EXPECT_EQ(torch_.recordings, 2);
  followed();
  EXPECT_EQ(budgets_.size(), 1u) << "the log was of the ops that there is a schedule for";
  followed();
  EXPECT_EQ(torch_.recordings, 3);
  torch_.iteration.emplace(of_other_ops());
  differing();
  followed();
  EXPECT_EQ(budget_.kinds(), 2u);
}

TEST_F(FurtherSchedulesTest, WhatNeedsNoRoomNeedsNoSchedule) {
  until_followed();
  for (int i = 0; i < 2; ++i) followed(), followed(), differing();
  torch_.iteration.emplace(of_other_ops());
  for (int i = 0; i < 40; ++i) followed();
  EXPECT_EQ(budgets_.size(), 1u);
  EXPECT_EQ(budget_.kinds(), 1u);
}

TEST_F(FurtherSchedulesTest, WhatIsNotFoundIsLookedForAgainAfterTwiceAsMany) {
  until_followed();
  for (int i = 0; i < 2; ++i) followed(), differing(), followed();
  for (int i = 0; i < 30; ++i) followed();
  const int first = torch_.recordings;
  EXPECT_EQ(first, 1 + static_cast<int>(FurtherSchedules::kMostLogged));
  EXPECT_TRUE(budget_.is_steady());
  for (int i = 0; i < 3; ++i) followed(), differing(), followed();
  EXPECT_EQ(torch_.recordings, first);
  followed(), differing();
  followed(), followed();
  EXPECT_GT(torch_.recordings, first);
}

TEST_F(FurtherSchedulesTest, IterationsOfWhichNoTwoAreAlikeAreWorthNoSchedule) {
  until_followed();
  for (int i = 0; i < 40; ++i) {
    for (int times = 0; times < 2; ++times) followed();
    ++torch_.follow_counts.ops_hash;
    differing();
  }
  EXPECT_EQ(torch_.recordings, 1);
  EXPECT_TRUE(torch_.follows);
  for (int i = 0; i < 3; ++i) followed(), followed(), differing();
  EXPECT_GE(torch_.recordings, 2);
}

TEST_F(FurtherSchedulesTest, ForFewerBytesAllKindsGetOtherSchedules) {
  until_followed();
  for (int i = 0; i < 2; ++i) followed(), followed(), differing();
  torch_.iteration.emplace(of_other_ops());
  followed(), followed(), differing();
  for (int i = 0; i < 3; ++i) followed();
  ASSERT_EQ(budget_.kinds(), 2u);
  ASSERT_EQ(budgets_.size(), 2u);
  ASSERT_TRUE(budget_.tighten(Bytes(4096), kLimit));
  followed();
  EXPECT_FALSE(budget_.is_steady()) << "the other kind's is made";
  for (int i = 0; i < 3; ++i) followed();
  ASSERT_EQ(budgets_.size(), 4u);
  EXPECT_LT(budgets_[2], budgets_[0]);
  EXPECT_EQ(budgets_[3], budgets_[2]);
  EXPECT_EQ(budget_.kinds(), 2u);
  EXPECT_EQ(torch_.followed, 4);
  EXPECT_TRUE(budget_.is_steady());
}

TEST_F(FurtherSchedulesTest, AKindWithoutAScheduleIsLeftToRescue) {
  until_followed();
  for (int i = 0; i < 2; ++i) followed(), differing(), followed();
  torch_.iteration.emplace(of_other_ops());
  least_ = kLimit;
  for (int i = 0; i < 40; ++i) followed(), differing(), followed();
  EXPECT_EQ(budget_.kinds(), 1u);
  EXPECT_EQ(budgets_.size(), 2u) << "it is asked for once";
  EXPECT_TRUE(torch_.follows);
}

}  // namespace
}  // namespace stowage::session
