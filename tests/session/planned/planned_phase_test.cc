#include "session/planned/planned_phase.h"

#include <gtest/gtest.h>

#include "tests/session/planned/planned_job.h"

namespace stowage::session {
namespace {

struct PlannedPhaseTest : testing::Test, PlannedJob {
  PlannedPhaseTest() {
    settings.diverged_iterations = 3;
    settings.miss_tolerance = 0.5;
    const JointPlan plan = joint_of({plan_of(3)});
    EXPECT_TRUE(arena->serve(plan.plans).ok());
    phase.begin(plan);
    phase.serve(plan);
  }
  SessionVerdict iterate(const std::vector<std::uint64_t>& sizes) {
    request_all(sizes);
    return phase.on_mark(MarkSource::kOptimizer, 1);
  }
  SessionVerdict clean() { return iterate({kBlock, kBlock, kBlock}); }
  void serve_well() {
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(clean().changes());
  }
  SessionVerdict diverged(std::uint64_t size) { return iterate({size, size}); }

  static constexpr std::uint64_t kTooLarge = 5 * kBlock;  ///< for the arena

  PlanUnderBudget under_budget{*budget, port, *arena, *lasting, facts};
  PlanWorth worth{*arena, plans, guard, room};
  ServedIterations iterations{port, *arena, recording, guard};
  Replanning replanning{settings, port, *budget, *arena, plans, recording, learner, guard, room, facts};
  ArenaExchange exchange{port, *budget, *arena, plans, guard, room, facts};
  PlannedPhase phase{settings, *arena, under_budget, worth, iterations, replanning, exchange};
};

TEST_F(PlannedPhaseTest, AJobThatFollowsItsPlanGoesOn) {
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(clean().changes());
  EXPECT_EQ(arena->allocator().counts().clean_iterations, 50u);
  EXPECT_EQ(plans.in_use().plans.size(), 1u);
  EXPECT_EQ(facts.all().plans.size(), 1u);
}

TEST_F(PlannedPhaseTest, AJobThatDivergesForLongIsRecordedAgain) {
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(clean().changes());
  EXPECT_FALSE(diverged(kTooLarge).changes());
  EXPECT_FALSE(diverged(kTooLarge + 1000).changes());
  EXPECT_FALSE(clean().changes()) << "not in a row";
  EXPECT_FALSE(diverged(kTooLarge + 2000).changes());
  EXPECT_FALSE(diverged(kTooLarge + 3000).changes());
  EXPECT_EQ(diverged(kTooLarge + 4000).to, SessionState::kRecording);
}

TEST_F(PlannedPhaseTest, AFewMissesAreTolerated) {
  for (std::uint64_t i = 0; i < 10; ++i)
    EXPECT_FALSE(iterate({kBlock, kBlock, kBlock, 1000 + 512 * i}).changes());
}

TEST_F(PlannedPhaseTest, WhileAFurtherPlanIsMadeItIsWaitedFor) {
  ASSERT_TRUE(plans.make_anew({}));
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_FALSE(diverged(kTooLarge + 512 * i).changes());
  asked.made = Error{ErrorCode::kUnplannable, "no"};
  EXPECT_EQ(diverged(2 * kTooLarge).to, SessionState::kRecording);
}

TEST_F(PlannedPhaseTest, AFurtherPlanBeginsTheRowAnew) {
  ASSERT_TRUE(plans.make_anew({}));
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_FALSE(diverged(kTooLarge + 512 * i).changes());
  asked.made = joint_of({plan_of(3), plan_of(4)});
  EXPECT_FALSE(diverged(2 * kTooLarge).changes());
  EXPECT_EQ(plans.in_use().plans.size(), 2u);
  EXPECT_FALSE(diverged(3 * kTooLarge).changes());
  EXPECT_EQ(diverged(4 * kTooLarge).to, SessionState::kRecording);
}

TEST_F(PlannedPhaseTest, APlanWhoseArenaWasGivenUpIsLeft) {
  port.counted = true;
  under_budget.give_up_free_parts(Bytes(1));
  EXPECT_EQ(phase.on_mark(MarkSource::kOptimizer, 1).to, SessionState::kRecording);
}

TEST_F(PlannedPhaseTest, TheArenaIsExchangedWhereATensorOutstaysItsPlace) {
  serve_well();
  asked.refuses = true;  // no plan lies around it
  void* const stays = request();
  for (std::uint64_t i = 0; i < 2 * OutstayedWatch::kPatience; ++i) {
    request_all({kBlock, kBlock, kBlock});
    EXPECT_FALSE(phase.on_mark(MarkSource::kOptimizer, 1).changes());
  }
  EXPECT_EQ(arena->allocator().counts().last_iteration_misses, 0u);
  EXPECT_NE(arena->owner_of(stays), &arena->allocator());
}

TEST_F(PlannedPhaseTest, WithoutMemoryForTheExchangeThePlanIsLeft) {
  serve_well();
  asked.refuses = true;
  request();
  port.no_memory = true;
  SessionVerdict verdict;
  for (std::uint64_t i = 0; i < 2 * OutstayedWatch::kPatience && !verdict.changes(); ++i) verdict = clean();
  EXPECT_EQ(verdict.to, SessionState::kRecording);
}

TEST_F(PlannedPhaseTest, APlanThatReservesTooMuchIsLeft) {
  serve_well();
  SessionVerdict verdict;
  for (int i = 0; i < 10 && !verdict.changes(); ++i) {
    guard.note_reserved(Bytes(150 * kMib));
    verdict = clean();
  }
  EXPECT_EQ(verdict.to, SessionState::kRecording);
}

}  // namespace
}  // namespace stowage::session
