#include "session/rescue/eviction_watch.h"

#include <gtest/gtest.h>

#include "tests/planner/schedule_logs.h"
#include "tests/session/recording/recorded_iterations.h"
#include "tests/session/rescue/budget_on_host.h"

namespace stowage::session {
namespace {

struct EvictionWatchTest : testing::Test, BudgetOnHost {
  EvictionWatchTest() {
    hold(1 << 20);
    job.recording.start(true);
    watch = std::make_unique<EvictionWatch>(*budget, port, *arena, *lasting, job.recording, facts);
  }
  std::optional<SessionVerdict> mark(SessionState now, bool evicts) {
    if (evicts) ++torch.counts.evictions;
    return watch->on_mark(MarkSource::kOptimizer, now);
  }
  SessionVerdict rescued(bool evicts) {
    EXPECT_FALSE(mark(SessionState::kRescuing, evicts));
    return watch->rescued_mark();
  }

  RecordedIterations job;
  std::unique_ptr<EvictionWatch> watch;
};

TEST_F(EvictionWatchTest, IterationsThatEvictNothingAreRecorded) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(mark(SessionState::kRecording, false));
  EXPECT_FALSE(watch->saw_evictions());
}

TEST_F(EvictionWatchTest, OthersAreForgottenAndTheThirdEndsRecording) {
  for (int i = 0; i < 2; ++i) {
    job.iterate({1000, 2000});
    const std::optional<SessionVerdict> verdict = mark(SessionState::kRecording, true);
    ASSERT_TRUE(verdict);
    EXPECT_FALSE(verdict->changes());
    EXPECT_EQ(job.recording.marks(), 0u);
    EXPECT_TRUE(watch->saw_evictions());
  }
  const std::optional<SessionVerdict> third = mark(SessionState::kRecording, true);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->to, SessionState::kRescuing);
  EXPECT_EQ(third->why, "") << "until iterations are calm";
}

// They are not planned: without the schedule they do not come again.
TEST_F(EvictionWatchTest, IterationsUnderAScheduleAreForgottenOnceItIsNotFollowedAnyMore) {
  torch.iteration.emplace(planner::schedule::chain(10, 4));
  for (int i = 0; i < 10 && !budget->schedule().follows(); ++i) mark(SessionState::kRescuing, true);
  ASSERT_TRUE(budget->schedule().follows());
  watch->restart();
  job.iterate({1000, 2000});
  EXPECT_FALSE(mark(SessionState::kRecording, false));
  EXPECT_EQ(job.recording.marks(), 1u);
  budget->schedule().stop();
  for (int i = 0; i < 2; ++i) {
    const std::optional<SessionVerdict> verdict = mark(SessionState::kRecording, false);
    EXPECT_EQ(verdict.has_value(), i == 0);
    EXPECT_EQ(job.recording.marks(), 0u);
  }
  EXPECT_FALSE(watch->saw_evictions());
}

TEST_F(EvictionWatchTest, WhereNothingIsRecordedEvictionsChangeNothing) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(mark(SessionState::kPlanning, true));
    EXPECT_FALSE(mark(SessionState::kPlanned, true));
  }
  EXPECT_FALSE(watch->saw_evictions());
}

TEST_F(EvictionWatchTest, SixteenCalmIterationsInARowAreRecordedAgain) {
  for (int i = 0; i < 3; ++i) mark(SessionState::kRecording, true);
  watch->restart();
  for (int i = 0; i < 15; ++i) EXPECT_FALSE(rescued(false).changes());
  EXPECT_FALSE(rescued(true).changes());
  for (int i = 0; i < 15; ++i) EXPECT_FALSE(rescued(false).changes());
  EXPECT_EQ(rescued(false).to, SessionState::kRecording);
}

TEST_F(EvictionWatchTest, ASessionThatRescuesForGoodIsNotRecordedAgain) {
  facts.give_reason("the plan's arena does not fit");
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(rescued(false).changes());
}

TEST_F(EvictionWatchTest, WhileRescuingTheFactsHearWhatUpstreamHolds) {
  void* const held = job.port.allocate(Bytes(kBlock));
  EXPECT_FALSE(mark(SessionState::kRescuing, true));
  EXPECT_EQ(facts.all().reserved_before, Bytes(kBlock));
  job.port.give_back(held);
}

}  // namespace
}  // namespace stowage::session
