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
  now += milliseconds(4'000);
  ASSERT_TRUE(allowance.is_due());
  EXPECT_DOUBLE_EQ(allowance.grant(0.005).value(), 0.04);
  EXPECT_FALSE(allowance.is_due());
  now += milliseconds(4'000);
  EXPECT_TRUE(allowance.is_due()) << "twice as long";
}

TEST_F(SearchAllowanceTest, WhereMuchCanBeSavedItSearchesSooner) {
  now += milliseconds(800);
  EXPECT_DOUBLE_EQ(allowance.grant(0.02).value(), 0.2);
}

TEST_F(SearchAllowanceTest, ASearchOfFullLengthIsTheLast) {
  now += milliseconds(200'000);
  EXPECT_DOUBLE_EQ(allowance.grant(0.005).value(), 2);
  now += milliseconds(1'000'000);
  EXPECT_FALSE(allowance.is_due());
}

TEST_F(SearchAllowanceTest, TheLastThousandthWaitsForAFullSearch) {
  now += milliseconds(120'000);
  EXPECT_EQ(allowance.grant(0.001), std::nullopt);
  EXPECT_TRUE(allowance.grant(0.002));
  EXPECT_EQ(allowance.grant(0.001), std::nullopt);
  now += milliseconds(120'000);
  EXPECT_TRUE(allowance.is_due());
  EXPECT_DOUBLE_EQ(allowance.grant(0.001).value(), 2);
}

TEST_F(SearchAllowanceTest, AllSearchesTogetherAreAHundredthOfAShortJob) {
  double searched = 0;
  for (int tenth = 0; tenth < 500; ++tenth, now += milliseconds(100)) {
    if (tenth != 0 && !allowance.is_due()) continue;
    const double granted = allowance.grant(0.005).value_or(0);
    searched += granted;
    now += milliseconds(static_cast<int>(1000 * granted));
  }
  EXPECT_GT(searched, 50.0 / 200);
  EXPECT_LE(searched, 50.0 / 100);
}

TEST_F(SearchAllowanceTest, ASearchThatEndsEarlyLeavesTheRestToOthers) {
  now += milliseconds(4'000);
  ASSERT_DOUBLE_EQ(allowance.grant(0.02).value(), 1);
  now += milliseconds(100);
  allowance.end();
  EXPECT_NEAR(allowance.grant(0.02).value(), 4.1 / 4 - 0.1, 1e-9);
}

TEST_F(SearchAllowanceTest, WhatRunsUntilItIsAskedForAgainIsCountedOnce) {
  now += milliseconds(4'000);
  ASSERT_DOUBLE_EQ(allowance.grant(0.02).value(), 1);
  now += milliseconds(4'000);
  EXPECT_DOUBLE_EQ(allowance.grant(0.02).value(), 1);
}

TEST_F(SearchAllowanceTest, WhatRestsIsNotDue) {
  allowance.grant(0.005);
  allowance.rest();
  now += milliseconds(128'000);
  EXPECT_FALSE(allowance.is_due());
}

}  // namespace
}  // namespace stowage::session
