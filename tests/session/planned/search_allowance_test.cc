// Searches for lower plans take a share of the job's time.
#include "session/planned/search_allowance.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stowage::session {
namespace {

using std::chrono::milliseconds;

struct SearchAllowanceTest : testing::Test {
  std::chrono::steady_clock::time_point now{};
  double most_s = 2;
  SearchAllowance allowance{most_s, [this] { return now; }};
};

TEST_F(SearchAllowanceTest, AYoungJobSearchesLaterAndNotForLong) {
  EXPECT_EQ(allowance.grant(0.005), std::nullopt);
  EXPECT_FALSE(allowance.is_due());
  now += milliseconds(400);
  ASSERT_TRUE(allowance.is_due());
  EXPECT_DOUBLE_EQ(allowance.grant(0.005).value(), 0.4 / 8);
  EXPECT_FALSE(allowance.is_due());
  now += milliseconds(400);
  EXPECT_TRUE(allowance.is_due()) << "twice as long";
}

TEST_F(SearchAllowanceTest, WhereMuchCanBeSavedItSearchesForLonger) {
  now += milliseconds(400);
  EXPECT_DOUBLE_EQ(allowance.grant(0.02).value(), 0.2);
}

TEST_F(SearchAllowanceTest, ASearchOfFullLengthIsTheLast) {
  now += milliseconds(16'000);
  EXPECT_DOUBLE_EQ(allowance.grant(0.005).value(), 2);
  now += milliseconds(1'000'000);
  EXPECT_FALSE(allowance.is_due());
}

TEST_F(SearchAllowanceTest, TheLastThousandthWaitsForAFullSearch) {
  now += milliseconds(12'000);
  EXPECT_EQ(allowance.grant(0.001), std::nullopt);
  EXPECT_TRUE(allowance.grant(0.002));
  EXPECT_EQ(allowance.grant(0.001), std::nullopt);
  now += milliseconds(12'000);
  EXPECT_TRUE(allowance.is_due());
  EXPECT_DOUBLE_EQ(allowance.grant(0.001).value(), 2);
}

TEST_F(SearchAllowanceTest, AllSearchesTogetherAreAQuarterOfAShortJob) {
  double searched = 0;
  for (int tenth = 0; tenth < 100; ++tenth, now += milliseconds(100)) {
    if (tenth == 0 || allowance.is_due()) searched += allowance.grant(0.005).value_or(0);
  }
  EXPECT_GT(searched, 10.0 / 16);
  EXPECT_LE(searched, 10.0 / 4);
}

TEST_F(SearchAllowanceTest, WhatRestsIsNotDue) {
  allowance.grant(0.005);
  allowance.rest();
  now += milliseconds(128'000);
  EXPECT_FALSE(allowance.is_due());
}

}  // namespace
}  // namespace stowage::session
