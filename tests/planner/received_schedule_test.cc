#include "planner/schedule/received_schedule.h"

#include <gtest/gtest.h>

#include <utility>

#include "planner/schedule/scheduler.h"
#include "tests/planner/schedule_logs.h"

namespace stowage::planner::schedule {
namespace {

ScheduleOptions modest() {
  ScheduleOptions options;
  options.smallest = Bytes(0);
  options.work_limit = 20'000'000;
  options.or_unplaced = true;
  return options;
}

struct ReceivedSchedule : testing::Test {
  bool refuses(std::vector<Action> actions) const {
    const Result<Schedule> got = accept_schedule(log, std::move(actions), budget);
    return !got.ok() && got.error().code == ErrorCode::kInvalidPlan;
  }
  StepLog log = chain(12, 8);
  Bytes budget = share_of_peak(log, 0.7);
  Schedule made = *make_schedule(log, budget, modest());
};

TEST_F(ReceivedSchedule, WhatTheSchedulerMakesIsAccepted) {
  ASSERT_FALSE(made.actions.empty());
  const Result<Schedule> got = accept_schedule(log, made.actions, budget);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->actions, made.actions);
  EXPECT_EQ(got->shape_hashes, made.shape_hashes);
  EXPECT_EQ(got->peak, made.peak);
  EXPECT_EQ(got->height, made.height);
  EXPECT_EQ(got->replays, made.replays);
  EXPECT_EQ(got->replay_ns, made.replay_ns);
}

TEST_F(ReceivedSchedule, TimesAreThoseOfTheOwnLog) {
  for (Op& op : log.trace.ops) op.duration_ns *= 2;
  const Result<Schedule> got = accept_schedule(log, made.actions, budget);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->replay_ns, 2 * made.replay_ns);
}

TEST_F(ReceivedSchedule, AnythingElseIsRefused) {
  const auto changed = [&](auto change) {
    std::vector<Action> actions = made.actions;
    change(actions);
    return actions;
  };
  EXPECT_TRUE(refuses({})) << "it holds too much";
  EXPECT_TRUE(refuses(changed([](auto& actions) { actions.front().op = 1'000'000; })));
  EXPECT_TRUE(refuses(changed([](auto& actions) { actions.front().entry = 1'000'000; })));
  EXPECT_TRUE(refuses(changed([](auto& actions) { actions.front().kind = ActionKind::kOffload; })));
  EXPECT_TRUE(refuses(changed([](auto& actions) { actions.insert(actions.begin(), actions.front()); })));
  EXPECT_TRUE(refuses(changed([](auto& actions) { std::swap(actions.front(), actions.back()); })));
  budget = share_of_peak(log, 0.3);
  EXPECT_TRUE(refuses(made.actions)) << "it is for more bytes";
}

}  // namespace
}  // namespace stowage::planner::schedule
