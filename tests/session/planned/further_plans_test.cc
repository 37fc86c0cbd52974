#include "session/planned/further_plans.h"

#include <gtest/gtest.h>

#include "tests/session/planned/planned_job.h"

namespace stowage::session {
namespace {

struct FurtherPlansTest : testing::Test, PlannedJob {
  FurtherPlansTest() {
    const Plan first = plan_of(2);
    follow(first);
    further.begin(first);
    further.restart(/*others_evict=*/false);
  }
  /// An iteration; true: a further plan is in use from now on.
  bool iterate(const std::vector<std::uint64_t>& sizes, bool missed) {
    request_all(sizes);
    arena->allocator().on_mark();
    recording.recorder().on_mark(MarkSource::kOptimizer);
    learner.on_mark();
    return further.learn(missed);
  }
  /// A kind of iteration that no plan knows comes by so many times.
  bool evaluate(int times) {
    bool taken = false;
    for (int i = 0; i < 3; ++i) taken |= iterate({kBlock, kBlock}, false);
    for (int i = 0; i < times; ++i) {
      taken |= iterate({3000, 4000}, true);
      taken |= iterate({kBlock, kBlock}, false);
    }
    return taken;
  }

  FurtherPlans further{settings, *arena, plans, learner, guard, facts};
};

TEST_F(FurtherPlansTest, OneIsAskedForOnceAKindWasSeenTwice) {
  EXPECT_FALSE(evaluate(1));
  EXPECT_EQ(asked.times, 0);
  EXPECT_FALSE(evaluate(1));
  EXPECT_EQ(asked.times, 1);
  EXPECT_TRUE(further.is_making());
  EXPECT_FALSE(further.take()) << "it is not there yet";
  asked.made = plan_of(3);
  EXPECT_TRUE(further.take());
  EXPECT_FALSE(further.is_making());
  EXPECT_EQ(plans.count_in_use(), 2u);
  EXPECT_EQ(arena->allocator().plan_count(), 2u);
  EXPECT_EQ(facts.all().plans.size(), 2u);
}

TEST_F(FurtherPlansTest, OneIsUsedAtTheBoundaryWhereItIsAskedForIfItIsThereInTime) {
  asked.made = plan_of(3);
  EXPECT_TRUE(evaluate(2));
  EXPECT_EQ(plans.count_in_use(), 2u);
}

TEST_F(FurtherPlansTest, AFailureLeavesThePlansAsTheyAre) {
  evaluate(2);
  asked.made = Error{ErrorCode::kUnplannable, "no"};
  EXPECT_FALSE(further.take());
  EXPECT_FALSE(further.is_making());
  EXPECT_EQ(plans.count_in_use(), 1u);
}

TEST_F(FurtherPlansTest, NothingIsLearnedAnyMoreWhereThePlannerRefuses) {
  asked.refuses = true;
  EXPECT_FALSE(evaluate(2));
  asked.refuses = false;
  EXPECT_FALSE(evaluate(4));
  EXPECT_EQ(asked.times, 0);
  EXPECT_FALSE(recording.is_on());
}

TEST_F(FurtherPlansTest, NothingIsLearnedAnyMoreWhereThereIsNoRoomForAPlan) {
  evaluate(2);
  Plan vast = plan_of(1);
  vast.height = Bytes(std::uint64_t{1} << 40);
  asked.made = vast;
  EXPECT_FALSE(further.take());
  EXPECT_EQ(plans.count_in_use(), 1u);
  iterate({kBlock, kBlock}, false);
  EXPECT_FALSE(recording.is_on());
}

TEST_F(FurtherPlansTest, NoMoreThanTheSettingsAllow) {
  settings.max_plans = 2;
  asked.made = plan_of(3);
  ASSERT_TRUE(evaluate(2));
  iterate({kBlock, kBlock}, false);
  EXPECT_FALSE(recording.is_on());
}

TEST_F(FurtherPlansTest, NoneWhereOtherIterationsEvict) {
  further.restart(/*others_evict=*/true);
  EXPECT_FALSE(evaluate(4));
  EXPECT_EQ(asked.times, 0);
}

}  // namespace
}  // namespace stowage::session
