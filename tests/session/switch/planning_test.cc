#include "session/switch/planning.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "planner/planner.h"
#include "tests/session/planned/planned_job.h"

namespace stowage::session {
namespace {

namespace fs = std::filesystem;

struct PlanningTest : testing::Test, PlannedJob {
  void iterate(const std::vector<std::uint64_t>& sizes = {1000, 2000}) {
    request_all(sizes);
    recording.on_mark(MarkSource::kOptimizer);
  }
  /// Until two iterations agree, and a plan is asked for.
  void begin() {
    for (int i = 0; i < 3; ++i) iterate();
    planning.begin();
    ASSERT_TRUE(planning.ask());
  }
  /// The same for iterations of two marks.
  void begin_by_two() {
    for (int i = 0; i < 4; ++i) iterate({1000}), iterate({2000, 3000});
    planning.begin();
    ASSERT_EQ(planning.window_marks(), 2u);
    ASSERT_TRUE(planning.ask());
  }
  std::optional<JointPlan> mark() {
    Result<std::optional<JointPlan>> made = planning.on_mark();
    EXPECT_TRUE(made.ok());
    return made.ok() ? *made : std::nullopt;
  }

  Planning planning{settings, port, recording, plans, guard, facts};
};

TEST_F(PlanningTest, ThePlanIsTriedAtTheMarkThatEndedRecordingIfItIsThere) {
  begin();
  EXPECT_EQ(asked.times, 1);
  ASSERT_TRUE(facts.trace());
  EXPECT_EQ(facts.trace()->marks.size(), 3u);
  asked.made = joint_of({plan_of(2)});
  const std::optional<JointPlan> plan = mark();
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->height, plan_of(2).height);
}

TEST_F(PlanningTest, AfterwardsItIsTriedWhereAWindowEnds) {
  begin_by_two();
  EXPECT_FALSE(mark());
  asked.made = joint_of({plan_of(2)});
  request_all({1000});
  EXPECT_FALSE(mark()) << "in the middle";
  EXPECT_FALSE(mark()) << "nothing was allocated";
  request_all({2000, 3000});
  EXPECT_TRUE(mark());
}

TEST_F(PlanningTest, APlanThatWasPutOffIsTriedAgain) {
  begin();
  asked.made = joint_of({plan_of(2)});
  planning.put_off(*mark());
  request_all({1000, 2000});
  EXPECT_TRUE(mark());
  request_all({1000, 2000});
  EXPECT_FALSE(mark()) << "each is given once";
}

TEST_F(PlanningTest, ABeginningForgetsWhatWasPutOff) {
  begin();
  planning.put_off(joint_of({plan_of(2)}));
  recording.start(false);
  begin();
  EXPECT_FALSE(mark());
}

TEST_F(PlanningTest, AFailureOfThePlannerIsAnError) {
  asked.refuses = true;
  for (int i = 0; i < 3; ++i) iterate();
  planning.begin();
  EXPECT_FALSE(planning.ask());
  asked.refuses = false;
  ASSERT_TRUE(planning.ask());
  asked.made = Error{ErrorCode::kUnplannable, "no"};
  EXPECT_FALSE(planning.on_mark().ok());
}

TEST_F(PlanningTest, WhileItIsWaitedForTheFactsHearWhatUpstreamHolds) {
  begin();
  void* const held = port.allocate(Bytes(200 * kMib));
  EXPECT_FALSE(mark());
  EXPECT_EQ(facts.all().reserved_before, Bytes(200 * kMib));
  port.give_back(held);
}

TEST_F(PlanningTest, APlanOfAnEarlierRunIsFoundByWhatWasRecorded) {
  EXPECT_FALSE(planning.find_kept()) << "none are kept";
  const fs::path folder = fs::temp_directory_path() / ("stowage-planning-" + std::to_string(getpid()));
  fs::remove_all(folder);
  settings.plan_cache = folder.string();
  for (int i = 0; i < 4; ++i) iterate();
  EXPECT_FALSE(planning.find_kept());
  Result<Plan> plan = planner::make_plan(recording.recorder().snapshot(), {});
  ASSERT_TRUE(plan.ok());
  plans.use(joint_of({*plan}));
  plans.keep();
  const std::optional<JointPlan> kept = planning.find_kept();
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->plans.front().entries, plan->entries);
  EXPECT_TRUE(guard.trusts_plan());
  EXPECT_TRUE(facts.trace());
  fs::remove_all(folder);
}

}  // namespace
}  // namespace stowage::session
