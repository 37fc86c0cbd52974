#include "session/rescue/plan_under_budget.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/planner/schedule_logs.h"
#include "tests/session/rescue/budget_on_host.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kLimit = 8 * kBlock;

struct PlanUnderBudgetTest : testing::Test, BudgetOnHost {
  void begin(std::uint64_t limit, bool on_touch = true) {
    hold(limit, on_touch);
    plan = std::make_unique<PlanUnderBudget>(*budget, port, *arena, *lasting, facts);
  }
  /// An arena of so many blocks is served from.
  void serve(std::uint64_t blocks) {
    ASSERT_TRUE(arena->serve({plan_of(blocks)}).ok());
    plan->begin();
    arena->resume();
  }
  void mark(bool evicts = false) {
    if (evicts) ++torch.counts.evictions;
    budget->on_mark(MarkSource::kOptimizer);
  }
  /// An arena for all of the budget, of which upstream keeps a part.
  void settle_in_vain() {
    begin(kLimit);
    mark();
    port.count.take(Bytes(kBlock));
    serve(8);
  }
  /// Until the runtime follows a schedule.
  void follow_schedule() {
    StepLog log = planner::schedule::chain(10, 4);
    log.replayed = log.shape_hashes;  // rescue runs all again: any schedule costs less
    torch.iteration.emplace(std::move(log));
    for (int i = 0; i < 10 && !budget->schedule().follows(); ++i) mark(/*evicts=*/true);
    ASSERT_TRUE(budget->schedule().follows());
  }

  std::unique_ptr<PlanUnderBudget> plan;
};

TEST_F(PlanUnderBudgetTest, WithoutABudgetEveryPlanFits) {
  plan = std::make_unique<PlanUnderBudget>(*budget, port, *arena, *lasting, facts);
  plan->prepare();
  EXPECT_FALSE(plan->refuse(joint_of(1000)).changes());
  EXPECT_FALSE(plan->is_scheduled());
}

TEST_F(PlanUnderBudgetTest, AnArenaThatIsTakenWholeHasToFitAtOnce) {
  begin(kLimit, /*on_touch=*/false);
  mark();
  port.count.take(Bytes(kBlock));
  EXPECT_FALSE(plan->refuse(joint_of(7)).changes());
  const SessionVerdict verdict = plan->refuse(joint_of(8));
  EXPECT_EQ(verdict.to, SessionState::kRescuing);
  EXPECT_EQ(
      verdict.why,
      "the plan's arena of 524288 bytes does not fit into the budget of 524288 bytes beside the 65536 bytes "
      "outside it");
}

TEST_F(PlanUnderBudgetTest, OneThatDoesNotFitMayOnceWhatLastsLiesTogether) {
  constexpr Bytes kLost(4096);
  begin(kLimit, /*on_touch=*/false);
  follow_schedule();
  for (int i = 0; i < 3; ++i) mark();
  plan->prepare();
  port.count.take(kLost);
  port.gathers = port.caches = true;
  port.give_back(port.allocate(kLost));
  port.gathered = [&] { port.count.give(kLost); };
  EXPECT_FALSE(plan->refuse(joint_of(8)).changes());
  port.count.take(kLost);
  port.gathered = nullptr;
  EXPECT_EQ(plan->refuse(joint_of(8)).to, SessionState::kRescuing);
}

TEST_F(PlanUnderBudgetTest, AnArenaThatIsTakenByTouchMaySettle) {
  begin(kLimit);
  mark();
  port.count.take(Bytes(kBlock));
  EXPECT_FALSE(plan->refuse(joint_of(8)).changes());
}

// What was handed on goes in the first iteration; what stays does not.
TEST_F(PlanUnderBudgetTest, AnArenaThatIsTakenInPagesNeedsNoRoomForWhatIsHandedOn) {
  begin(kLimit, /*on_touch=*/false);
  port.in_parts = true;
  mark();
  static_cast<void>(port.allocate(Bytes(2 * kBlock)));
  JointPlan plans = joint_of(7);
  EXPECT_EQ(plan->refuse(plans).to, SessionState::kRescuing);
  plans.plans.front().entries.back().crosses = true;
  EXPECT_FALSE(plan->refuse(plans).changes());
  plans.height += Bytes(kBlock);
  EXPECT_EQ(plan->refuse(plans).to, SessionState::kRescuing);
}

TEST_F(PlanUnderBudgetTest, WhereNobodyMarksIterationsBetweenOpsThereIsNoPlan) {
  begin(kLimit);
  budget->on_mark(MarkSource::kPeriod);
  const SessionVerdict verdict = plan->refuse(joint_of(1));
  EXPECT_EQ(verdict.to, SessionState::kRescuing);
  EXPECT_NE(verdict.why.find("stowage.step()"), std::string::npos);
}

TEST_F(PlanUnderBudgetTest, TheRuntimeRestsOnceTheArenaIsCountedAsAWhole) {
  begin(kLimit);
  mark();
  port.count.take(Bytes(kBlock));
  serve(8);
  ASSERT_TRUE(arena->settles());
  EXPECT_TRUE(plan->evicts());
  EXPECT_FALSE(plan->settle(1).changes());
  EXPECT_TRUE(torch.installed);
  port.count.give(Bytes(kBlock));
  EXPECT_FALSE(plan->settle(1).changes());
  EXPECT_FALSE(arena->settles());
  EXPECT_FALSE(torch.installed);
  EXPECT_FALSE(plan->evicts());
}

TEST_F(PlanUnderBudgetTest, AnArenaThatSettlesForThreeIterationsDoesNotFit) {
  settle_in_vain();
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(plan->settle(1).changes());
  const SessionVerdict verdict = plan->settle(1);
  EXPECT_EQ(verdict.to, SessionState::kRescuing);
  EXPECT_NE(verdict.why.find("does not fit into the budget"), std::string::npos);
  EXPECT_EQ(allocate(), nullptr);
}

TEST_F(PlanUnderBudgetTest, AnIterationMayHaveSeveralMarks) {
  settle_in_vain();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(plan->settle(2).changes());
  EXPECT_EQ(plan->settle(2).to, SessionState::kRescuing);
}

TEST_F(PlanUnderBudgetTest, WithoutTheRuntimeAPlanThatGivesUpMemoryIsLost) {
  begin(kLimit);
  mark();
  serve(8);
  EXPECT_FALSE(plan->settle(1).changes());
  ASSERT_FALSE(torch.installed);
  EXPECT_FALSE(plan->is_lost());
  EXPECT_TRUE(plan->give_up_free_parts(Bytes(kBlock)));
  EXPECT_EQ(port.count.held(), Bytes(0));
  EXPECT_TRUE(plan->gave_up_arena());
  EXPECT_TRUE(plan->is_lost());
  EXPECT_EQ(allocate(), nullptr);
  plan->leave();
  EXPECT_TRUE(torch.installed);
}

TEST_F(PlanUnderBudgetTest, WithTheRuntimeItGoesOnWithWhatIsLeft) {
  begin(kLimit);
  mark();
  port.count.take(Bytes(kBlock));
  serve(8);
  ASSERT_NE(allocate(), nullptr);
  EXPECT_FALSE(plan->give_up_free_parts(Bytes(kBlock))) << "what nobody used was not counted yet";
  EXPECT_FALSE(plan->is_lost());
  EXPECT_NE(allocate(), nullptr);
}

TEST_F(PlanUnderBudgetTest, APlanForIterationsUnderAScheduleGoesWithIt) {
  begin(2 * kLimit);
  follow_schedule();
  plan->prepare();
  EXPECT_TRUE(plan->is_scheduled());
  EXPECT_TRUE(plan->evicts());
  EXPECT_FALSE(plan->refuse(joint_of(1)).changes());
  EXPECT_FALSE(plan->is_lost());
  plan->rest();
  EXPECT_TRUE(torch.installed) << "the schedule needs it";
  budget->schedule().stop();
  EXPECT_TRUE(plan->is_lost());
  const SessionVerdict verdict = plan->refuse(joint_of(1));
  EXPECT_EQ(verdict.to, SessionState::kRescuing);
  EXPECT_EQ(verdict.why, "");
  plan->rescue();
  EXPECT_FALSE(plan->is_scheduled());
}

TEST_F(PlanUnderBudgetTest, IterationsThatEvictOnDemandDoNotCountWhileTheArenaSettles) {
  begin(kLimit);
  follow_schedule();
  plan->prepare();
  port.count.take(Bytes(kBlock));
  serve(8);
  for (int i = 0; i < 6; ++i) {
    mark(/*evicts=*/true);
    EXPECT_FALSE(plan->settle(1).changes());
  }
  for (int i = 0; i < 2; ++i) {
    mark();
    EXPECT_FALSE(plan->settle(1).changes());
  }
  mark();
  EXPECT_EQ(plan->settle(1).to, SessionState::kRescuing);
}

TEST_F(PlanUnderBudgetTest, ButIfAllDoTheArenaDoesNotFit) {
  begin(kLimit);
  follow_schedule();
  plan->prepare();
  port.count.take(Bytes(kBlock));
  serve(8);
  int marks = 0;
  for (SessionVerdict verdict; !verdict.changes() && marks < 100; ++marks) {
    mark(/*evicts=*/true);
    verdict = plan->settle(1);
  }
  EXPECT_EQ(marks, 16 + 3);
}

TEST_F(PlanUnderBudgetTest, OnceItIsMadeForFewerBytesThePlanIsDropped) {
  begin(2 * kLimit);
  EXPECT_FALSE(plan->ask_for_less(Bytes(kBlock))) << "there is no schedule";
  follow_schedule();
  plan->prepare();
  serve(1);
  EXPECT_FALSE(plan->settle(1).changes());
  ASSERT_TRUE(plan->ask_for_less(Bytes(1)));
  SessionVerdict verdict = plan->settle(1);
  EXPECT_FALSE(verdict.changes()) << "the plan serves until it is there";
  const std::uint64_t number = budget->schedule().number();
  for (int i = 0; i < 100 && budget->schedule().number() == number; ++i) mark();
  ASSERT_NE(budget->schedule().number(), number);
  verdict = plan->settle(1);
  EXPECT_EQ(verdict.to, SessionState::kRescuing);
  EXPECT_EQ(verdict.why, "");
  EXPECT_EQ(allocate(), nullptr);
  EXPECT_TRUE(budget->schedule().follows());
}

TEST_F(PlanUnderBudgetTest, AScheduleThatIsLeftInTheMiddleIsFollowedNoLonger) {
  begin(2 * kLimit);
  follow_schedule();
  plan->prepare();
  plan->leave();
  EXPECT_FALSE(torch.follows);
  EXPECT_FALSE(plan->is_scheduled());
}

}  // namespace
}  // namespace stowage::session
