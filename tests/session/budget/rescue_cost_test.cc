// What rescue costs: of the logged iteration, of several marks, and where nobody knows.
#include "session/budget/rescue_cost.h"

#include <gtest/gtest.h>

namespace stowage::session {
namespace {

constexpr std::uint64_t kShort = 100, kLong = 300;

/// Two ops, and `times` that each ran again.
StepLog log_of(std::uint64_t short_times, std::uint64_t long_times) {
  StepLog log;
  log.trace.ops.resize(2);
  log.trace.ops[0].duration_ns = kShort;
  log.trace.ops[1].duration_ns = kLong;
  log.shape_hashes = {1, 2};
  log.replayed.assign(short_times, 1);
  log.replayed.insert(log.replayed.end(), long_times, 2);
  return log;
}

RuntimeCounters counts_of(std::uint64_t replays, Bytes evicted = Bytes(0)) {
  RuntimeCounters counts;
  counts.replays = replays;
  counts.evicted = evicted;
  return counts;
}

Schedule schedule_of(std::uint64_t ns) {
  Schedule schedule;
  schedule.replay_ns = ns;
  return schedule;
}

/// `marks` iterations, in all of which `replays` ops ran again; the last one is `log`.
RescueCost cost_of(const StepLog& log, std::uint64_t marks, std::uint64_t replays, Bytes evicted = Bytes(0)) {
  constexpr std::uint64_t kBefore = 5;
  RescueCost cost;
  cost.begin(counts_of(kBefore));
  for (std::uint64_t i = 0; i < marks; ++i) cost.note_mark();
  cost.note_log(log, counts_of(kBefore + replays, evicted));
  return cost;
}

TEST(RescueCostTest, IsTheTimeOfWhatRanAgainInTheLoggedIteration) {
  EXPECT_EQ(cost_of(log_of(3, 2), 4, 20).ns(), 3 * kShort + 2 * kLong);
  EXPECT_EQ(cost_of(log_of(3, 2), 4, 7).ns(), 3 * kShort + 2 * kLong) << "other marks had less";
}

TEST(RescueCostTest, CopiesOfAScheduleCount) {
  const RescueCost cost = cost_of(log_of(10, 0), 1, 10);
  Schedule schedule = schedule_of(10 * kShort);
  EXPECT_FALSE(cost.is_below(schedule));
  schedule.wait_ns = 10 * kShort;
  EXPECT_TRUE(cost.is_below(schedule));
}

TEST(RescueCostTest, OfSeveralMarksTheMeanCountsWhereItIsMore) {
  EXPECT_EQ(cost_of(log_of(2, 0), 3, 12).ns(), 4 * kShort);
}

TEST(RescueCostTest, IsUnknownWhereOtherMarksHadItAll) {
  const RescueCost cost = cost_of(log_of(0, 0), 2, 30);
  EXPECT_FALSE(cost.ns());
  EXPECT_FALSE(cost.is_below(schedule_of(1'000'000)));
}

TEST(RescueCostTest, IsUnknownWhereOpsRanAgainThatTheIterationHasNot) {
  StepLog log = log_of(0, 0);
  log.replayed = {7, 8};
  EXPECT_FALSE(cost_of(log, 1, 2).ns());
}

TEST(RescueCostTest, IsUnknownWhileTensorsAreEvicted) {
  EXPECT_FALSE(cost_of(log_of(1, 0), 1, 1, Bytes(1)).ns());
}

TEST(RescueCostTest, IsNothingWhereNothingRanAgain) { EXPECT_EQ(cost_of(log_of(0, 0), 2, 0).ns(), 0u); }

TEST(RescueCostTest, AScheduleMayTakeAQuarterMore) {
  const RescueCost cost = cost_of(log_of(4, 0), 1, 4);
  EXPECT_FALSE(cost.is_below(schedule_of(5 * kShort)));
  EXPECT_TRUE(cost.is_below(schedule_of(5 * kShort + 1)));
}

TEST(RescueCostTest, WhatItCopiesCountsToo) {
  RuntimeCounters before = counts_of(0), after = counts_of(4);
  before.copy_cost_ns = 1000;
  after.copy_cost_ns = 7000;
  RescueCost cost;
  cost.begin(before);
  for (int i = 0; i < 2; ++i) cost.note_mark();
  cost.note_log(log_of(2, 0), after);
  EXPECT_EQ(cost.copies_ns(), 3000u);
  EXPECT_EQ(cost.ns(), 2 * kShort + 3000u);
  EXPECT_FALSE(cost.is_below(schedule_of(4000)));
}

TEST(RescueCostTest, OrASixtyFourthOfTheIteration) {
  const RescueCost cost = cost_of(log_of(0, 0), 1, 0);
  const std::uint64_t little = (kShort + kLong) / 64;
  EXPECT_FALSE(cost.is_below(schedule_of(little)));
  EXPECT_TRUE(cost.is_below(schedule_of(little + 1)));
}

}  // namespace
}  // namespace stowage::session
