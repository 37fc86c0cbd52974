#include "session/reserved/plan_worth.h"

#include <gtest/gtest.h>

#include "tests/session/arena/arena_on_host.h"
#include "tests/session/plans/scripted_plans.h"
#include "tests/session/recording/recorded_iterations.h"

namespace stowage::session {
namespace {

struct PlanWorthTest : testing::Test, GuardedArena {
  Plan plan_of_mib(std::uint64_t mib) {
    Plan plan;
    plan.entries.push_back({Bytes(mib * kMib), kStream, Offset(0), kUpstream});
    plan.height = Bytes(mib * kMib);
    return plan;
  }
  void follow(const Plan& plan) {
    ASSERT_TRUE(arena->serve({plan}).ok());
    plans.use(joint_of({plan}));
    worth.begin();
    worth.restart();
    arena->resume();
    guard.most();
    free(arena->allocator().allocate(plan.height, kStream));
  }
  SessionVerdict iteration(std::uint64_t upstream_mib, bool clean = true) {
    guard.note_reserved(Bytes(upstream_mib * kMib));
    return worth.on_iteration(clean);
  }

  Settings settings;
  Asked asked;
  PlanBook plans{settings, info, std::make_unique<ScriptedPlans>(asked)};
  DeviceRoom room{port, *arena, guard};
  PlanWorth worth{*arena, plans, guard, room};
};

TEST_F(PlanWorthTest, APlanThatWouldReserveMoreThanTheJobNeedsIsRefusedForGood) {
  EXPECT_FALSE(worth.refuse(joint_of({plan_of_mib(101)})).changes());
  const SessionVerdict verdict = worth.refuse(joint_of({plan_of_mib(110)}));
  EXPECT_EQ(verdict.to, SessionState::kOff);
  EXPECT_EQ(verdict.why, "with its plan the job would reserve 110 MiB, and 101 MiB are enough without one");
  EXPECT_TRUE(verdict.releases_cache);
}

TEST_F(PlanWorthTest, OneThatTurnsOutSoIsLeftAndTheSecondTimeGivenUp) {
  follow(plan_of_mib(90));
  const int before = port.releases;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(iteration(12).changes()) << "left of the switch, and one is none";
  EXPECT_EQ(port.releases, before + 3);
  EXPECT_EQ(iteration(12).to, SessionState::kRecording);
  worth.restart();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(iteration(12).changes());
  const SessionVerdict verdict = iteration(12);
  EXPECT_EQ(verdict.to, SessionState::kOff);
  EXPECT_EQ(verdict.why, "with its plan the job would reserve 102 MiB, and 101 MiB are enough without one");
}

TEST_F(PlanWorthTest, AFurtherPlanThatIsMadeIsWaitedFor) {
  follow(plan_of_mib(90));
  ASSERT_TRUE(plans.make_anew({}));
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(iteration(12).changes());
}

TEST_F(PlanWorthTest, ALowerPlacementIsWaitedForWhereTheLowestOneWouldDo) {
  for (const std::uint64_t bound_mib : {89, 90}) {
    Plan plan = plan_of_mib(90);
    plan.lower_bound = Bytes(bound_mib * kMib);
    follow(plan);
    JointPlan first = joint_of({plan});
    first.lower_bound = plan.lower_bound;
    plans.use(first);
    ASSERT_TRUE(plans.make_anew({}));
    plans.make_lower({}, {}, 0, settings.plan_seconds);
    int iterations = 0;
    while (iterations < 20 && !iteration(12).changes()) ++iterations;
    EXPECT_EQ(iterations == 20, bound_mib == 89) << "101 MiB are enough without a plan";
    arena->shut_out();
    arena->give_back();
  }
}

TEST_F(PlanWorthTest, APlanThatFitsGoesOn) {
  follow(plan_of_mib(90));
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(iteration(10).changes());
}

TEST_F(PlanWorthTest, APlanWhoseArenaMakesWayAllTheTimeIsLeft) {
  follow(plan_of_mib(96));
  SessionVerdict verdict;
  int iterations = 0;
  for (; iterations < 20 && !verdict.changes(); ++iterations) {
    arena->allocator().on_mark();
    free(arena->allocator().allocate(Bytes(96 * kMib), kStream));
    room.for_upstream(Bytes(40 * kMib), kStream);
    verdict = worth.on_iteration(/*clean=*/false);
  }
  EXPECT_EQ(verdict.to, SessionState::kRecording);
  EXPECT_LT(iterations, 10);
}

}  // namespace
}  // namespace stowage::session
