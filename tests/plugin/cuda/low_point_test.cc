#include "plugin/cuda/upstream/low_point.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace stowage::plugin {
namespace {

constexpr std::int64_t kMega = 1 << 20;

// Requests and frees of one iteration, in order; at which of the requests the low point was told.
std::vector<std::size_t> told(LowPoint& point, const std::vector<std::int64_t>& deltas, bool wanted = true) {
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < deltas.size(); ++i) {
    if (deltas[i] > 0 && point.is_reached()) at.push_back(i);
    point.note(deltas[i]);
  }
  point.begin_iteration(wanted);
  return at;
}

using Told = std::vector<std::size_t>;

TEST(LowPoint, IsToldOnceWhereLeastIsInUse) {
  LowPoint point;
  // The mark lies before the gradients are freed, as with an optimizer's step.
  const std::vector<std::int64_t> job{-2 * kMega, 5 * kMega, 3 * kMega, -6 * kMega, 4 * kMega, -4 * kMega};
  told(point, {4 * kMega});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(told(point, job), Told{1}) << i;
}

TEST(LowPoint, OfTwoMarksAnIterationTellsTheLower) {
  LowPoint point;
  const std::vector<std::int64_t> first{-2 * kMega, 6 * kMega, -3 * kMega};
  const std::vector<std::int64_t> second{-1 * kMega, 4 * kMega, -4 * kMega};
  told(point, {4 * kMega});
  for (int i = 0; i < 4; ++i) told(point, i % 2 == 0 ? first : second);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(told(point, first), Told{1}) << i;
    EXPECT_EQ(told(point, second), Told{}) << i;
  }
}

TEST(LowPoint, WhatAJobGathersDoesNotHideIt) {
  LowPoint point;
  const std::vector<std::int64_t> job{-2 * kMega, 5 * kMega, 512, -3 * kMega};
  told(point, {4 * kMega});
  told(point, job);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(told(point, job), Told{1}) << i;
}

TEST(LowPoint, IsLearntAnewWhereTheJobHoldsMore) {
  LowPoint point;
  const std::vector<std::int64_t> job{-2 * kMega, 5 * kMega, -3 * kMega};
  told(point, {4 * kMega});
  told(point, job);
  EXPECT_EQ(told(point, job), Told{1});
  told(point, {kMega});  // and keeps it
  int missed = 0;
  for (int i = 0; i < 20; ++i) missed += told(point, job).empty() ? 1 : 0;
  EXPECT_GT(missed, 0);
  EXPECT_LE(missed, 9);
  EXPECT_EQ(told(point, job), Told{1});
}

TEST(LowPoint, WhoDoesNotWantItIsNotTold) {
  LowPoint point;
  const std::vector<std::int64_t> job{-2 * kMega, 5 * kMega, -3 * kMega};
  told(point, {4 * kMega}, false);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(told(point, job, false), Told{});
}

}  // namespace
}  // namespace stowage::plugin
