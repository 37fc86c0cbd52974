// How many marks make up an iteration, by what comes between those that follow a schedule.
#include "session/budget/mark_period.h"

#include <gtest/gtest.h>

namespace stowage::session {
namespace {

/// Iterations of other ops come, then one that follows the schedule.
bool after_others(MarkPeriod& period, int others, std::uint64_t hash = 7, bool needed_room = true) {
  for (int i = 0; i < others; ++i) period.note_other(hash + static_cast<std::uint64_t>(i), needed_room);
  return period.note_followed();
}

TEST(MarkPeriodTest, WhatComesInBetweenTwiceBelongsToTheIteration) {
  MarkPeriod period;
  EXPECT_FALSE(period.note_followed());
  EXPECT_FALSE(after_others(period, 2));
  EXPECT_TRUE(after_others(period, 2));
  EXPECT_EQ(period.marks(), 3u);
  EXPECT_FALSE(period.ends_iteration() || period.ends_iteration());
  EXPECT_TRUE(period.ends_iteration());
  EXPECT_FALSE(period.ends_iteration());
}

TEST(MarkPeriodTest, NothingInBetweenIsNoReason) {
  MarkPeriod period;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(period.note_followed());
  EXPECT_TRUE(period.ends_iteration());
}

TEST(MarkPeriodTest, NorAreOtherOpsEachTimeNorOthersThatNeedNoRoomNorAnotherNumber) {
  MarkPeriod differs, calm, uneven;
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_FALSE(after_others(differs, 1, i));
    EXPECT_FALSE(after_others(calm, 1, 7, false));
    EXPECT_FALSE(after_others(uneven, 1 + static_cast<int>(i % 2)));
  }
}

TEST(MarkPeriodTest, ItGrowsByFactorsUpToTheLongest) {
  MarkPeriod period;
  for (const std::uint64_t marks : {2, 4, 8}) {
    period.begin();
    EXPECT_FALSE(after_others(period, 1));
    EXPECT_TRUE(after_others(period, 1));
    EXPECT_EQ(period.marks(), marks);
  }
  period.begin();
  EXPECT_FALSE(after_others(period, 1));
  EXPECT_FALSE(after_others(period, 1));
  EXPECT_EQ(period.marks(), MarkPeriod::kLongest);
}

TEST(MarkPeriodTest, AnotherScheduleBeginsAnew) {
  MarkPeriod period;
  EXPECT_FALSE(after_others(period, 1));
  period.begin();
  EXPECT_FALSE(after_others(period, 1));
  EXPECT_TRUE(after_others(period, 1));
}

}  // namespace
}  // namespace stowage::session
