// From rescue to a followed schedule: when an iteration is written down, what ends the following, and when
// rescue stays alone.
#include "session/budget/schedule_controller.h"

#include <gtest/gtest.h>

#include <vector>

#include "session/ports/heap_margin.h"
#include "tests/session/budget/scheduled_job.h"

namespace stowage::session {
namespace {

using ScheduleControllerTest = ScheduledJob;

TEST_F(ScheduleControllerTest, WithoutEvictionsNothingIsWrittenDown) {
  for (int i = 0; i < 20; ++i) mark();
  EXPECT_EQ(torch_.recordings, 0);
  EXPECT_EQ(budget_.facts().since, 0u);
}

TEST_F(ScheduleControllerTest, TwoEvictingIterationsLeadToOneThatIsWrittenDownAndFollowed) {
  rescued();
  EXPECT_EQ(torch_.recordings, 0);
  rescued();
  EXPECT_EQ(torch_.recordings, 1);
  rescued();
  EXPECT_FALSE(torch_.follows);
  rescued();
  EXPECT_TRUE(torch_.follows);
  for (int i = 0; i < 20; ++i) followed();
  const ScheduleFacts facts = budget_.facts();
  EXPECT_TRUE(facts.followed);
  EXPECT_EQ(facts.since, 4u);
  EXPECT_EQ(facts.evictions, 1u);
  EXPECT_EQ(facts.recomputed_ops, 7u);
  EXPECT_EQ(facts.iterations, 20u);
  EXPECT_EQ(facts.left, 0u);
  EXPECT_EQ(facts.rooms, 0u);
  EXPECT_EQ(facts.reason, "");
  ASSERT_EQ(budgets_.size(), 1u);
  EXPECT_EQ(budgets_[0], kLimit - heap_margin(kLimit));
  EXPECT_EQ(torch_.recordings, 1);
}

TEST_F(ScheduleControllerTest, WhereOpsAreTimedOverSeveralIterationsTheLastOneIsPlannedFrom) {
  torch_.iterations_logged = 4;
  for (int i = 0; i < 6; ++i) rescued();
  EXPECT_FALSE(torch_.follows) << "two that evict, and three of the four that are logged";
  rescued();
  EXPECT_TRUE(torch_.follows);
  EXPECT_EQ(torch_.recordings, 1);
  ASSERT_EQ(budgets_.size(), 1u);
}

TEST_F(ScheduleControllerTest, TellsWhatTimedTheOpsThatItWasMadeFrom) {
  StepLog log;
  log.trace.ops.resize(4);
  for (Op& op : log.trace.ops) op.timed_by = TimeSource::kCupti;
  log.trace.ops[1].timed_by = TimeSource::kModel;
  log.trace.ops[2].flags = kOpComposite;
  log.trace.ops[3].duration_ns = 7 * kOpNs;
  log.shape_hashes = {1, 2, 3, 4};
  log.replayed.assign(7, 4);
  torch_.iteration.emplace(log);
  until_followed();
  const TimedOps timed = budget_.facts().timed_ops;
  EXPECT_EQ(timed[static_cast<std::size_t>(TimeSource::kCupti)], 2u);
  EXPECT_EQ(timed[static_cast<std::size_t>(TimeSource::kModel)], 1u);
}

TEST_F(ScheduleControllerTest, TellsWhatItsOpsCostBesideTheJobs) {
  StepLog log;
  log.trace.ops.resize(3);
  for (Op& op : log.trace.ops) op.duration_ns = 7 * kOpNs;
  log.trace.ops[2].parent = OpId(1);  // its time is in that of the op around it
  log.shape_hashes = {1, 2, 3};
  log.replayed.assign(7, 1);
  torch_.iteration.emplace(log);
  until_followed();
  EXPECT_EQ(budget_.facts().recompute_ns, 7 * kOpNs);
  EXPECT_EQ(budget_.facts().ops_ns, 14 * kOpNs);
}

TEST_F(ScheduleControllerTest, WhereRescueStillMakesRoomTheScheduleIsMadeForLessAFewTimes) {
  until_followed();
  followed(true);  // the first one may
  followed(true);  // and while better ones are looked for
  awaited_in_vain();
  EXPECT_EQ(budgets_.size(), 1u) << "with a plan there would be no need";
  followed(true);
  ASSERT_EQ(budgets_.size(), 2u);
  EXPECT_EQ(budgets_[1], budgets_[0] - Bytes(kLimit.value() / 128));
  followed(true);
  followed();
  EXPECT_EQ(budgets_.size(), 2u);
  EXPECT_EQ(budget_.facts().tightened, 1u);
  EXPECT_EQ(budget_.facts().rooms, 1u);
  for (int i = 0; i < 40; ++i) followed(true);
  ASSERT_EQ(budgets_.size(), 6u);
  EXPECT_EQ(budgets_[2], budgets_[1] - Bytes(kLimit.value() / 64))
      << "the less is lost, the less is given up";
  for (std::size_t i = 3; i < 6; ++i) EXPECT_EQ(budgets_[i], budgets_[i - 1] - Bytes(kLimit.value() / 32));
  EXPECT_TRUE(torch_.follows);
}

TEST_F(ScheduleControllerTest, WhereMuchRoomIsMadeTheFirstStepIsLarger) {
  until_followed();
  for (int i = 0; i < 2; ++i) followed();  // until the longest search is over
  awaited_in_vain();
  torch_.counts.rooms += 4;  // and one more
  followed(true);
  ASSERT_EQ(budgets_.size(), 2u);
  EXPECT_EQ(budgets_[1], budgets_[0] - Bytes(kLimit.value() / 64));
  followed();
  EXPECT_EQ(budget_.facts().tightened, 1u);
}

TEST_F(ScheduleControllerTest, RoomForAFewOtherOpsMattersOnlyIfItIsNeededOften) {
  until_followed();
  for (int i = 0; i < 2; ++i) followed();  // until the longest search is over
  awaited_in_vain();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(budgets_.size(), i < 4 ? 1u : 2u) << i;
    ++torch_.follow_counts.resynced;
    followed(true);
  }
}

TEST_F(ScheduleControllerTest, WhereLessCannotBePlannedThePresentScheduleGoesOn) {
  least_ = kLimit - Bytes(20000);
  until_followed();
  for (int i = 0; i < 40; ++i) followed(true);
  EXPECT_EQ(budgets_.size(), 2u);
  EXPECT_TRUE(torch_.follows && budget_.facts().followed);
}

TEST_F(ScheduleControllerTest, AfterCalmIterationsItIsNotMadeAnew) {
  until_followed();
  for (int i = 0; i < 10; ++i) followed();
  for (int i = 0; i < 10; ++i) followed(true);
  EXPECT_EQ(budgets_.size(), 1u);
  EXPECT_TRUE(torch_.follows);
}

TEST_F(ScheduleControllerTest, ABudgetThatCannotBePlannedIsLeftToRescue) {
  least_ = kLimit;
  until_followed();
  rescued();
  EXPECT_EQ(asked_more_, 0u);
  EXPECT_EQ(asked_most_, 1u) << "a longer search finds none either";
  EXPECT_FALSE(torch_.follows);
  EXPECT_EQ(budget_.facts().reason, "the least budget is more");
  for (int i = 0; i < 20; ++i) rescued();
  EXPECT_EQ(torch_.recordings, 1);
}

TEST_F(ScheduleControllerTest, AnUnusableLogIsAskedForAgainAndThenGivenUp) {
  torch_.iteration.emplace(Error{ErrorCode::kUnplannable, "an op ran across the end"});
  for (int i = 0; i < 40; ++i) rescued();
  EXPECT_EQ(torch_.recordings, 3);
  EXPECT_EQ(budget_.facts().reason, "an op ran across the end");
  EXPECT_TRUE(budgets_.empty());
}

TEST_F(ScheduleControllerTest, AScheduleThatTheRuntimeRefusesIsLeftToRescue) {
  torch_.follow_fails = true;
  until_followed();
  EXPECT_EQ(budget_.facts().reason, "out of order");
}

TEST_F(ScheduleControllerTest, IterationsThatDifferInARowAreWrittenDownAnew) {
  const auto differ = [this](int times) {
    for (int i = 0; i < times; ++i) ++torch_.follow_counts.ops_hash, differing();
  };
  until_followed();
  followed();
  followed();
  differ(11);
  followed();
  differ(11);
  EXPECT_TRUE(torch_.follows);
  differ(1);
  EXPECT_FALSE(torch_.follows);
  EXPECT_FALSE(budget_.facts().followed);
  until_followed();
  EXPECT_TRUE(torch_.follows);
  EXPECT_EQ(budgets_.size(), 2u);
  differ(80);
  EXPECT_EQ(budgets_.size(), 3u) << "at first after three";
  EXPECT_FALSE(torch_.follows);
  EXPECT_EQ(budget_.facts().reason, "the job's ops differ from iteration to iteration");
}

TEST_F(ScheduleControllerTest, WhereHardlyAnyFollowsAnotherOneIsWrittenDownSoon) {
  until_followed();
  followed();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(torch_.follows);
    differing();
  }
  EXPECT_FALSE(torch_.follows);
}

TEST_F(ScheduleControllerTest, ThoseThatNeedNoRoomMayDiffer) {
  until_followed();
  followed();
  followed();
  for (int i = 0; i < 40; ++i) {
    ++torch_.follow_counts.left;
    mark();
  }
  EXPECT_TRUE(torch_.follows);
  followed();
  EXPECT_TRUE(budget_.is_steady());
}

TEST_F(ScheduleControllerTest, AReceivedOneThatRecomputesMuchLongerIsMadeAnewHere) {
  rescue(5);
  made_ns_ = {7 * kOpNs, 5 * kOpNs};
  received_ = 1;
  until_followed();
  EXPECT_FALSE(torch_.follows);
  rescued();
  EXPECT_TRUE(torch_.follows);
  ASSERT_EQ(budgets_.size(), 2u);
  EXPECT_EQ(budgets_[0], budgets_[1]);
  EXPECT_EQ(budget_.facts().recompute_ns, 5 * kOpNs);
}

TEST_F(ScheduleControllerTest, ATighterOneThatTakesMuchLongerThanRescueIsNotFollowed) {
  rescue(7);
  made_ns_ = {5 * kOpNs, 20 * kOpNs};
  until_followed();
  followed();
  ASSERT_TRUE(budget_.tighten(Bytes(512), kLimit));
  followed();
  ASSERT_EQ(budgets_.size(), 2u);
  EXPECT_TRUE(torch_.follows);
  EXPECT_EQ(budget_.facts().recompute_ns, 5 * kOpNs) << "the present one goes on";
  EXPECT_FALSE(budget_.tighten(Bytes(512), kLimit)) << "and nothing tighter is tried";
}

TEST_F(ScheduleControllerTest, ALittleLongerThanRescueIsFollowed) {
  rescue(6);
  until_followed();
  EXPECT_TRUE(torch_.follows);
}

TEST_F(ScheduleControllerTest, MoreOpsThanRescueThatTakeNoLongerAreFollowed) {
  rescue(1);
  torch_.iteration->value().trace.ops.front().duration_ns = 7 * kOpNs;
  until_followed();
  EXPECT_TRUE(torch_.follows);
}

TEST_F(ScheduleControllerTest, RescueThatHasMoreToDoWhenTheIterationEndsIsNoMeasure) {
  rescue(1);
  torch_.away = 1;
  until_followed();
  EXPECT_TRUE(torch_.follows);
}

TEST_F(ScheduleControllerTest, ItIsSteadyOnceAnIterationFollowedItToItsEnd) {
  until_followed();
  EXPECT_TRUE(budget_.follows() && budget_.has_arena());
  EXPECT_FALSE(budget_.is_steady());
  followed();
  EXPECT_TRUE(budget_.is_steady());
  differing();
  EXPECT_FALSE(budget_.is_steady());
  followed();
  EXPECT_TRUE(budget_.is_steady());
  awaited_in_vain();
  EXPECT_TRUE(budget_.is_steady());
  followed(true);  // another one is made for less
  EXPECT_FALSE(budget_.is_steady());
}

TEST_F(ScheduleControllerTest, WhereNoArenaIsToComeALittleRoomIsNoReasonToMakeItForLess) {
  height_ = kLimit + kGranule;
  until_followed();
  followed();
  for (int i = 0; i < 20; ++i) followed(true);
  EXPECT_EQ(budgets_.size(), 1u);
  torch_.counts.rooms += 4;  // and one more
  followed(true);
  EXPECT_EQ(budgets_.size(), 2u);
}

TEST_F(ScheduleControllerTest, WhereNoArenaFitsItSaysSo) {
  height_ = kLimit + kGranule;
  until_followed();
  EXPECT_TRUE(budget_.follows());
  EXPECT_FALSE(budget_.has_arena());
  EXPECT_EQ(budget_.facts().height, height_);
}

TEST_F(ScheduleControllerTest, AnArenaNeedsNoMarginSinceItsOffsetsAreFixed) {
  height_ = kLimit;
  until_followed();
  EXPECT_TRUE(budget_.has_arena());
  EXPECT_TRUE(budget_.tighten(Bytes(512), kLimit));
  followed();
  EXPECT_FALSE(budget_.has_arena()) << "but what it was too high by";
}

TEST_F(ScheduleControllerTest, HeldItIsNotMadeAnewThoughRescueMakesRoom) {
  until_followed();
  budget_.hold(true);
  for (int i = 0; i < 20; ++i) followed(true);
  EXPECT_EQ(budgets_.size(), 1u);
  budget_.hold(false);
  awaited_in_vain();
  EXPECT_EQ(budgets_.size(), 1u);
  followed(true);
  EXPECT_EQ(budgets_.size(), 2u);
}

// And a little less, for pages and alignment: of the bytes that the present schedule's arena takes.
TEST_F(ScheduleControllerTest, ForAnArenaThatDoesNotFitItIsMadeForSoMuchLessAFewTimes) {
  until_followed();
  followed();
  const Bytes excess(50'000), little(kLimit.value() / 512);
  ASSERT_TRUE(budget_.tighten(excess, kLimit));
  followed();
  ASSERT_EQ(budgets_.size(), 2u);
  EXPECT_EQ(budgets_[1], height_ - excess - little);
  EXPECT_EQ(budget_.facts().tightened, 1u);
  ASSERT_TRUE(budget_.tighten(Bytes(1), kLimit));
  EXPECT_FALSE(budget_.tighten(Bytes(1), kLimit)) << "one is being made";
  followed();
  EXPECT_EQ(budgets_[2], budgets_[1] - Bytes(1) - little) << "it takes no more than was asked for";
  ASSERT_TRUE(budget_.tighten(excess, kLimit));
  followed();
  EXPECT_FALSE(budget_.tighten(excess, kLimit));
  EXPECT_TRUE(torch_.follows);
}

TEST_F(ScheduleControllerTest, AlsoWhenItHasBeenFollowedForLong) {
  until_followed();
  budget_.hold(true);
  for (int i = 0; i < 20; ++i) followed();
  const std::uint64_t number = budget_.number();
  EXPECT_TRUE(budget_.tighten(Bytes(1), kLimit));
  followed();
  EXPECT_TRUE(torch_.follows);
  EXPECT_EQ(torch_.recordings, 1);
  EXPECT_EQ(budgets_.size(), 2u);
  EXPECT_EQ(budget_.number(), number) << "it evicts the same";
}

TEST_F(ScheduleControllerTest, AScheduleOfEverySecondMarkIsMadeAnewForTwoMarks) {
  until_followed();
  followed();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(torch_.follows);
    differing();
    followed();
  }
  EXPECT_FALSE(torch_.follows);
  for (int i = 0; i < 2; ++i) until_followed();
  EXPECT_TRUE(torch_.follows);
  EXPECT_EQ(torch_.recordings, 2);
  for (int i = 0; i < 20; ++i) {
    mark();
    EXPECT_EQ(budget_.is_steady(), i > 0);
    followed();
  }
}

TEST_F(ScheduleControllerTest, NotWhereOtherOpsComeInBetweenEachTime) {
  until_followed();
  for (int i = 0; i < 40; ++i) {
    ++torch_.follow_counts.ops_hash;
    differing();
    followed();
  }
  EXPECT_TRUE(torch_.follows);
  EXPECT_EQ(torch_.recordings, 1);
}

TEST_F(ScheduleControllerTest, StoppedItFollowsNothingAndBeginsAnew) {
  until_followed();
  budget_.stop();
  EXPECT_FALSE(torch_.follows);
  until_followed();
  EXPECT_TRUE(torch_.follows);
  EXPECT_EQ(budget_.facts().since, 4u);
}

}  // namespace
}  // namespace stowage::session
