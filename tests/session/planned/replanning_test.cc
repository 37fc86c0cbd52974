#include "session/planned/replanning.h"

#include <gtest/gtest.h>

#include "session/ports/heap_margin.h"
#include "tests/session/planned/planned_job.h"

namespace stowage::session {
namespace {

/// `plan_of(blocks)`, `up` blocks higher.
Plan plan_above(std::uint64_t blocks, std::uint64_t up) {
  Plan plan = plan_of(blocks);
  for (PlanEntry& entry : plan.entries) entry.offset = entry.offset + Bytes(up * kBlock);
  plan.height = plan.lower_bound = Bytes((blocks + up) * kBlock);
  return plan;
}

/// Two blocks that are never alive together have places of their own, though one would do.
Plan wasteful() {
  Plan plan = plan_of(2);
  plan.lower_bound = Bytes(kBlock);
  return plan;
}

Plan lower() {
  Plan plan = plan_of(1);
  plan.entries.push_back(plan.entries[0]);
  plan.lower_bound = plan.height;
  return plan;
}

struct ReplanningTest : testing::Test, PlannedJob {
  ReplanningTest() {
    settings.plan_wait_ms = 0;
    settings.plan_seconds = 1e-9;  // so the job has run for long
    guard.most();
  }
  void begin(const Plan& first) {
    follow(first);
    replanning.begin(joint_of({first}));
    replanning.restart();
  }
  /// An iteration; true: other plans are in use from now on.
  bool iterate(const std::vector<std::uint64_t>& sizes, Replanning& of) {
    request_all(sizes);
    arena->allocator().on_mark();
    if (recording.is_on()) recording.recorder().on_mark(MarkSource::kOptimizer);
    const std::uint64_t missed = arena->allocator().counts().last_iteration_misses;
    return of.on_iteration({sizes.size(), missed, arena->committed_bytes(), evicts});
  }
  bool iterate(const std::vector<std::uint64_t>& sizes) { return iterate(sizes, replanning); }
  bool train(int times = 1) {
    bool changed = false;
    for (int i = 0; i < times; ++i) changed |= iterate({kBlock, kBlock, kBlock});
    return changed;
  }
  /// A kind of iteration that no plan knows comes by so many times.
  bool evaluate(int times) {
    bool changed = false;
    for (int i = 0; i < times; ++i) {
      changed |= iterate({2 * kBlock, 3 * kBlock, 4 * kBlock});
      changed |= train();
    }
    return changed;
  }
  /// A tensor stays in the first one's place for so many iterations.
  bool outstay(int times) {
    stays = request();
    arena->allocator().on_mark();
    return train(times);
  }

  bool evicts = false;  ///< rescue does, on demand
  void* stays = nullptr;
  Replanning replanning{settings, port, *budget, *arena, plans, recording, learner, guard, room, facts};
};

TEST_F(ReplanningTest, AKindThatCameTwiceIsPlannedWithTheOthers) {
  begin(plan_of(3));
  train(3);
  EXPECT_FALSE(evaluate(1));
  EXPECT_EQ(asked.times, 0);
  EXPECT_FALSE(evaluate(1));
  ASSERT_EQ(asked.times, 1);
  EXPECT_TRUE(replanning.is_making());
  EXPECT_EQ(asked.kinds.kinds.size(), 2u);
  EXPECT_EQ(asked.options.in_use.size(), 1u);
  EXPECT_FALSE(train()) << "it is not there yet";
  asked.made = joint_of({plan_of(3), plan_of(4)});
  EXPECT_TRUE(train());
  EXPECT_FALSE(replanning.is_making());
  EXPECT_EQ(plans.in_use().plans.size(), 2u);
  EXPECT_EQ(arena->allocator().plan_count(), 2u);
  EXPECT_EQ(facts.all().plans.size(), 2u);
}

TEST_F(ReplanningTest, PlansThatAreThereInTimeAreUsedAtTheBoundaryWhereTheyAreAskedFor) {
  begin(plan_of(3));
  train(3);
  asked.made = joint_of({plan_of(3), plan_of(4)});
  EXPECT_TRUE(evaluate(2));
}

TEST_F(ReplanningTest, PlansLieAroundATensorThatStays) {
  begin(plan_of(3));
  EXPECT_FALSE(train(20));
  EXPECT_EQ(asked.times, 0);
  EXPECT_FALSE(outstay(2));
  ASSERT_EQ(asked.times, 1);
  ASSERT_EQ(asked.options.tenants.size(), 1u);
  EXPECT_EQ(asked.options.tenants[0].offset, Offset(0));
  EXPECT_EQ(asked.options.tenants[0].rounded, Bytes(kBlock));
  asked.made = joint_of({plan_above(3, 1)});
  EXPECT_TRUE(train());
  EXPECT_FALSE(train());
  EXPECT_EQ(arena->allocator().counts().last_iteration_misses, 0u);
  EXPECT_EQ(plans.in_use().height, Bytes(4 * kBlock));
  EXPECT_EQ(arena->allocator().block_at(stays)->offset, Offset(0)) << "it stays where it is";
  EXPECT_FALSE(train(40));
  EXPECT_EQ(asked.times, 1);
}

TEST_F(ReplanningTest, AFurtherKindIsPlannedEvenWhileOtherPlansAreBeingMade) {
  begin(plan_of(3));
  train(3);
  evaluate(1);
  outstay(2);
  ASSERT_EQ(asked.times, 1);
  EXPECT_TRUE(replanning.is_making());
  EXPECT_EQ(asked.kinds.kinds.size(), 1u);
  evaluate(1);
  EXPECT_EQ(asked.times, 2);
  EXPECT_EQ(asked.kinds.kinds.size(), 2u);
}

TEST_F(ReplanningTest, PlansAreToldWhichStreamsHaveWhatOfTheArena) {
  begin(plan_of(3));
  outstay(2);
  const std::vector<StreamRange> claimed = arena->allocator().stream_ranges();
  ASSERT_EQ(asked.times, 1);
  EXPECT_EQ(asked.options.claimed, claimed);
  EXPECT_FALSE(claimed.empty());
}

TEST_F(ReplanningTest, AFailureLeavesThePlansAsTheyAre) {
  begin(plan_of(3));
  train(3);
  evaluate(2);
  asked.made = Error{ErrorCode::kUnplannable, "no"};
  EXPECT_FALSE(train());
  EXPECT_FALSE(replanning.is_making());
  EXPECT_EQ(plans.in_use().plans.size(), 1u);
  EXPECT_NE(hot.serving.load(), nullptr);
}

TEST_F(ReplanningTest, NothingIsLearnedAnyMoreWhereThePlannerRefuses) {
  begin(plan_of(3));
  train(3);
  asked.refuses = true;
  EXPECT_FALSE(evaluate(2));
  asked.refuses = false;
  EXPECT_FALSE(evaluate(4));
  EXPECT_EQ(asked.times, 0);
  EXPECT_FALSE(recording.is_on());
}

TEST_F(ReplanningTest, NoMoreKindsThanTheSettingsAllow) {
  settings.max_plans = 2;
  begin(plan_of(3));
  train(3);
  asked.made = joint_of({plan_of(3), plan_of(4)});
  ASSERT_TRUE(evaluate(2));
  train();
  EXPECT_FALSE(recording.is_on());
}

TEST_F(ReplanningTest, NoneOfIterationsThatEvictOnDemand) {
  begin(plan_of(3));
  train(3);
  evicts = true;
  EXPECT_FALSE(evaluate(4));
  EXPECT_EQ(asked.times, 0);
}

TEST_F(ReplanningTest, PlansForWhichTheJobWouldReserveTooMuchAreNotUsed) {
  begin(plan_of(3));
  void* const outside = port.allocate(Bytes(101 * kMib));
  guard.most();
  outstay(2);
  asked.made = joint_of({plan_above(3, 200 * kMib / kBlock)});
  EXPECT_FALSE(train());
  EXPECT_EQ(plans.in_use().height, Bytes(3 * kBlock));
  port.give_back(outside);
}

TEST_F(ReplanningTest, NorWherePagesOfUpstreamStayWhole) {
  begin(plan_of(3));
  void* const outside = port.allocate(Bytes(50 * kMib));
  port.give_back(port.allocate(Bytes(40 * kMib)));
  const Plan higher = plan_above(3, 40 * kMib / kBlock);
  port.pinned = Bytes(40 * kMib);
  room.release_upstream();
  outstay(2);
  asked.made = joint_of({higher});
  EXPECT_FALSE(train()) << "tensors hold 50 MiB outside the arena, in 90 MiB of pages";
  EXPECT_EQ(plans.in_use().height, Bytes(3 * kBlock));
  ASSERT_TRUE(asked.options.most);
  EXPECT_LT(*asked.options.most, higher.height);
  port.pinned = Bytes(0);
  room.release_upstream();
  ASSERT_TRUE(plans.make_anew({}));
  asked.made = joint_of({higher});
  EXPECT_TRUE(train());
  EXPECT_EQ(plans.in_use().height, higher.height);
  port.give_back(outside);
}

struct ReplanningUnderABudget : ReplanningTest {
  explicit ReplanningUnderABudget(bool on_touch = false) {
    port.counted = true;
    port.on_touch = on_touch;
    begin(plan_of(3));
  }
  BudgetController held{*Budget::parse("1GiB"),      &port.count, no_torch(), Device{}, Bytes(0),
                        std::chrono::milliseconds(0)};
  Replanning under_budget{settings, port, held, *arena, plans, recording, learner, guard, room, facts};
};

TEST_F(ReplanningUnderABudget, PlansMoveOnlyWhereItHasRoomForThem) {
  const auto evaluate_under_it = [&](int times) {
    bool changed = false;
    for (int i = 0; i < times; ++i) {
      changed |= iterate({2 * kBlock, 3 * kBlock, 4 * kBlock}, under_budget);
      changed |= iterate({kBlock, kBlock, kBlock}, under_budget);
    }
    return changed;
  };
  for (int i = 0; i < 3; ++i) iterate({kBlock, kBlock, kBlock}, under_budget);
  const JointPlan higher = joint_of({plan_above(3, 1), plan_of(4)});
  const Bytes page = port.arena_page();
  const Bytes needed = allocator::round_up_to(higher.height, page);
  ASSERT_GT(needed, arena->mapped());
  port.count.set_limit(needed + port.count.upstream() - page);
  asked.made = higher;
  EXPECT_FALSE(evaluate_under_it(2));
  ASSERT_EQ(asked.times, 1);
  EXPECT_TRUE(asked.options.tenants.empty());
  const Bytes limit = port.count.limit();
  EXPECT_EQ(asked.options.most, std::max(limit - heap_margin(limit), arena->mapped()));
  port.count.set_limit(needed + port.count.upstream() + Bytes(kMib));
  asked.made = higher;
  ASSERT_TRUE(plans.make_anew({}));
  EXPECT_TRUE(iterate({kBlock, kBlock, kBlock}, under_budget));
  EXPECT_EQ(plans.in_use().height, higher.height);
}

struct ReplanningOnTouch : ReplanningUnderABudget {
  ReplanningOnTouch() : ReplanningUnderABudget(true) {}
};

// What iterations hand on lies outside as long as a tensor is in its place, and in the new plans' arena then.
TEST_F(ReplanningOnTouch, WhatWasDisplacedMakesRoomForThem) {
  for (int i = 0; i < 3; ++i) iterate({kBlock, kBlock, kBlock}, under_budget);
  JointPlan higher = joint_of({plan_above(3, 32)});
  const Bytes needed = allocator::round_up_to(higher.height, port.arena_page());
  ASSERT_GT(needed, arena->mapped());
  port.count.set_limit(needed + port.count.upstream() + Bytes(kBlock));
  port.count.take(Bytes(3 * kBlock));  // displaced
  asked.made = higher;
  ASSERT_TRUE(plans.make_anew({}));
  EXPECT_FALSE(iterate({kBlock, kBlock, kBlock}, under_budget));
  for (PlanEntry& entry : higher.plans.front().entries) entry.crosses = true;
  asked.made = higher;
  ASSERT_TRUE(plans.make_anew({}));
  EXPECT_TRUE(iterate({kBlock, kBlock, kBlock}, under_budget));
  EXPECT_TRUE(arena->settles());
  EXPECT_LE(port.count.held(), port.count.limit());
  EXPECT_FALSE(arena->count_whole());
  port.count.give(Bytes(3 * kBlock));
  EXPECT_TRUE(arena->count_whole());
}

TEST_F(ReplanningUnderABudget, OneMoreIsPutBesideThoseInUse) {
  asked.made = joint_of({plan_of(3), plan_of(4)});
  ASSERT_TRUE(plans.make_anew({}));
  EXPECT_TRUE(iterate({kBlock, kBlock, kBlock}, under_budget));
  EXPECT_EQ(plans.in_use().plans.size(), 2u);
}

TEST_F(ReplanningTest, ALowerPlacementIsUsedInPlace) {
  begin(wasteful());
  replanning.ask_lower();
  EXPECT_TRUE(plans.makes_lower());
  allocator::PlannedAllocator* const before = &arena->allocator();
  asked.made = joint_of({lower()});
  EXPECT_TRUE(iterate({kBlock}));
  EXPECT_EQ(&arena->allocator(), before);
  EXPECT_EQ(plans.in_use().height, Bytes(kBlock));
  EXPECT_EQ(facts.all().plans.size(), 1u);
}

TEST_F(ReplanningTest, ALowerPlacementIsNotAskedForWhereItCouldSaveNothing) {
  begin(lower());
  replanning.ask_lower();
  Plan nearly = wasteful();
  nearly.lower_bound = nearly.height - Bytes(512);  // less than a page
  plans.use(joint_of({nearly}));
  replanning.ask_lower();
  guard.trust_plan(true);
  plans.use(joint_of({wasteful()}));
  replanning.ask_lower();
  EXPECT_EQ(asked.times, 0);
}

TEST_F(ReplanningTest, OneThatIsNotLowerIsNoUse) {
  begin(wasteful());
  replanning.ask_lower();
  asked.made = joint_of({wasteful()});
  EXPECT_FALSE(iterate({kBlock, kBlock}));
}

TEST_F(ReplanningTest, MostOfWhatCanBeSavedIsWantedFirst) {
  begin(wasteful());
  replanning.ask_lower();
  EXPECT_DOUBLE_EQ(asked.options.good_enough, 0.25);  // it is twice as high as the bound
  EXPECT_EQ(asked.options.tolerable, Bytes(0));
}

TEST_F(ReplanningTest, PlansThatChangeNothingDoNotEndTheSearchForLowerOnes) {
  begin(wasteful());
  replanning.ask_lower();
  ASSERT_TRUE(plans.make_anew({}));
  EXPECT_FALSE(plans.makes_lower());
  asked.made = joint_of({wasteful()});
  EXPECT_FALSE(iterate({kBlock, kBlock}));
  EXPECT_TRUE(plans.makes_lower());
}

TEST_F(ReplanningTest, WhatLivedAboveLowerPlansGivesItsMemoryBackOnceItIsFreed) {
  begin(plan_of(1));
  ASSERT_TRUE(plans.make_anew({}));
  asked.made = joint_of({plan_of(8)});
  ASSERT_TRUE(iterate({kBlock}));
  for (int i = 0; i < 7; ++i) release(request());
  void* const above = request();
  ASSERT_EQ(arena->allocator().block_at(above)->offset, Offset(7 * kBlock));
  plans.make_lower({}, {}, 0, settings.plan_seconds);
  asked.made = joint_of({lower()});
  ASSERT_TRUE(iterate({}));
  const Bytes held = arena->committed_bytes();
  EXPECT_LE(held, Bytes(3 * kBlock)) << "what is idle above them went back at once";
  release(above);
  for (int i = 0; i < 2; ++i) iterate({kBlock, kBlock});
  EXPECT_LT(arena->committed_bytes(), held);
}

TEST_F(ReplanningTest, NothingIsExchangedInsideACapture) {
  begin(wasteful());
  replanning.ask_lower();
  asked.made = joint_of({lower()});
  port.capturing = true;
  EXPECT_FALSE(iterate({kBlock, kBlock}));
}

}  // namespace
}  // namespace stowage::session
