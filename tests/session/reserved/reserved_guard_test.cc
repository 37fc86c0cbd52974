#include "session/reserved/reserved_guard.h"

#include <gtest/gtest.h>

#include "tests/session/arena/arena_on_host.h"
#include "tests/session/plans/joint.h"

namespace stowage::session {
namespace {

using Verdict = ReservedGuard::Verdict;

/// 1 MiB more than the job needs is tolerated.
struct ReservedGuardTest : testing::Test, GuardedArena {
  /// A plan of one block.
  void follow(std::uint64_t height) {
    Plan plan;
    plan.entries.push_back({Bytes(height), kStream, Offset(0), kUpstream});
    plan.height = Bytes(height);
    ASSERT_TRUE(arena->serve({plan}).ok());
    guard.begin();
    guard.restart();
    arena->resume();
    free(arena->allocator().allocate(Bytes(height), kStream));  // memory comes as it is used
  }
  Verdict iteration(std::uint64_t upstream, bool clean = true, bool planning = false) {
    guard.note_reserved(Bytes(upstream));
    return guard.on_iteration(clean, planning);
  }
  void settle() {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(iteration(500 * kMib), Verdict::kRelease) << "left of the switch";
  }
};

TEST_F(ReservedGuardTest, AllowsWhatTheJobNeededAndALittleMore) {
  EXPECT_EQ(guard.most(), Bytes(101 * kMib));
  EXPECT_EQ(guard.last_most(), Bytes(101 * kMib));
  EXPECT_TRUE(guard.fits(Bytes(101 * kMib), UpstreamUse{}));
  EXPECT_FALSE(guard.fits(Bytes(101 * kMib + 1), UpstreamUse{}));
}

TEST_F(ReservedGuardTest, SaysNothingUnderABudgetOrOfAKeptPlanOrWhereTheDeviceDoesNotTell) {
  guard.trust_plan(true);
  EXPECT_FALSE(guard.most());
  guard.trust_plan(false);
  EXPECT_TRUE(guard.most());
  port.caches = false;
  EXPECT_FALSE(guard.most());
  port.caches = true;
  limit(200 * kMib);
  ReservedGuard under_budget(port, info, *budget, *arena, facts);
  EXPECT_FALSE(under_budget.most());
}

TEST_F(ReservedGuardTest, ForetellsAPlanThatIsTooLarge) {
  Plan plan = plan_of(1);
  plan.height = Bytes(101 * kMib);
  EXPECT_FALSE(guard.foretell(joint_of({plan})));
  void* const outside = port.allocate(Bytes(kMib));
  const auto excess = guard.foretell(joint_of({plan}));
  ASSERT_TRUE(excess);
  EXPECT_EQ(excess->reserved, Bytes(102 * kMib));
  EXPECT_EQ(excess->most, Bytes(101 * kMib));
  plan.entries[0] = {Bytes(kMib), kStream, Offset(0), kUpstream, /*crosses=*/true};
  EXPECT_FALSE(guard.foretell(joint_of({plan}))) << "what lives outside now has a place in the plan";
  port.give_back(outside);
}

TEST_F(ReservedGuardTest, ToleratesWhatExpandableSegmentsAloneWouldReserve) {
  Plan plan = plan_of(1);
  plan.height = Bytes(110 * kMib);
  EXPECT_TRUE(guard.foretell(joint_of({plan})));
  facts.note_modelled(Bytes(109 * kMib), Bytes(0));
  EXPECT_FALSE(guard.foretell(joint_of({plan})));
}

TEST_F(ReservedGuardTest, APlanIsLeftAfterTwoCleanIterationsThatAreTooLarge) {
  follow(90 * kMib);
  settle();
  EXPECT_EQ(iteration(11 * kMib), Verdict::kFine);
  EXPECT_EQ(iteration(12 * kMib), Verdict::kRelease);
  EXPECT_EQ(iteration(12 * kMib), Verdict::kLeave);
  EXPECT_EQ(guard.excess().reserved, Bytes(102 * kMib));
  EXPECT_EQ(guard.excess().most, Bytes(101 * kMib));
}

TEST_F(ReservedGuardTest, TheSecondTimeItIsGivenUp) {
  follow(90 * kMib);
  settle();
  iteration(12 * kMib);
  EXPECT_EQ(iteration(12 * kMib), Verdict::kLeave);
  guard.restart();
  settle();
  iteration(12 * kMib);
  EXPECT_EQ(iteration(12 * kMib), Verdict::kGiveUp);
}

TEST_F(ReservedGuardTest, AfterLongServiceItIsTheJobThatHasChanged) {
  follow(90 * kMib);
  settle();
  for (int times = 0; times < 2; ++times) {
    for (int i = 0; i < 20; ++i) EXPECT_EQ(iteration(0), Verdict::kFine);
    iteration(12 * kMib);
    EXPECT_EQ(iteration(12 * kMib), Verdict::kLeave);
    guard.restart(/*old_tensors_are_gone=*/true);
  }
}

TEST_F(ReservedGuardTest, IterationsOffThePlanAndAFurtherPlanAreWaitedFor) {
  follow(90 * kMib);
  settle();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(iteration(12 * kMib, false, /*planning=*/true), Verdict::kRelease);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(iteration(12 * kMib, /*clean=*/false), Verdict::kRelease);
  EXPECT_EQ(iteration(12 * kMib, /*clean=*/false), Verdict::kLeave);
}

TEST_F(ReservedGuardTest, TheArenaHasTheRoomThatUpstreamLeavesItAtItsMost) {
  EXPECT_EQ(guard.room_for_arena(Bytes(0)), Bytes(101 * kMib));
  follow(80 * kMib);
  settle();
  EXPECT_EQ(guard.beside(), Bytes(0)) << "left of the switch";
  iteration(15 * kMib);
  EXPECT_EQ(port.upstream_use().reserved, Bytes(0)) << "at the iteration's end nothing is left of it";
  EXPECT_EQ(guard.beside(), Bytes(15 * kMib));
  EXPECT_EQ(guard.room_for_arena(Bytes(0)), Bytes(86 * kMib));
  iteration(18 * kMib, /*clean=*/false);
  EXPECT_EQ(guard.beside(), Bytes(15 * kMib)) << "what was off the plan will have places";
  EXPECT_EQ(guard.room_for_arena(Bytes(110 * kMib)), Bytes(95 * kMib)) << "no more than now is no worse";
  iteration(5 * kMib);
  EXPECT_EQ(guard.room_for_arena(Bytes(0)), Bytes(96 * kMib));
}

TEST_F(ReservedGuardTest, WhatTheJobKeepsSinceIsItsNeed) {
  follow(90 * kMib);
  settle();
  guard.note_lasting(Bytes(0), Bytes(0));
  guard.note_lasting(Bytes(5 * kMib), Bytes(5 * kMib));
  EXPECT_EQ(guard.most(), Bytes(105 * kMib + 105 * kMib / 100));
  EXPECT_EQ(iteration(15 * kMib), Verdict::kFine);
}

TEST_F(ReservedGuardTest, AndThePagesThatItLiesIn) {
  follow(90 * kMib);
  settle();
  guard.note_lasting(Bytes(0), Bytes(0));
  guard.note_lasting(Bytes(5 * kMib), Bytes(25 * kMib));
  EXPECT_EQ(guard.most(), Bytes(125 * kMib + 125 * kMib / 100));
  guard.note_lasting(Bytes(5 * kMib), Bytes(500 * kMib));
  EXPECT_EQ(guard.most(), Bytes(145 * kMib + 145 * kMib / 100)) << "two pages, not all that upstream took";
  guard.note_lasting(Bytes(0), Bytes(500 * kMib));
  EXPECT_EQ(guard.most(), Bytes(100 * kMib + 100 * kMib / 100)) << "nothing is kept that would need pages";
}

}  // namespace
}  // namespace stowage::session
