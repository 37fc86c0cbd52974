// A plan that the arena of the one before cannot take, since it gives addresses of one stream to another: the
// arena is exchanged, or the session declines.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "planner/joint_planner.h"
#include "session/session.h"
#include "tests/session/fake_port.h"

namespace stowage::session {
namespace {

/// Plans at once, and hands the plan out when it is asked the second time.
class LatePlans final : public PlanSource {
 public:
  Status submit(planner::Kinds kinds, planner::JointOptions options) override {
    made_ = planner::make_plans(kinds, options);
    asked_ = 0;
    return {};
  }
  std::optional<Result<JointPlan>> poll(std::chrono::nanoseconds) override {
    return ++asked_ == 2 ? made_ : std::nullopt;
  }
  void cancel() override {}

 private:
  std::optional<Result<JointPlan>> made_;
  int asked_ = 0;
};

struct ArenaExchange : testing::Test {
  /// Ends with a recording session whose arena, of a plan for stream 0, holds `kept`.
  void leave_the_first_plan() {
    Settings settings;
    settings.diverged_iterations = 3;
    settings.max_plans = 1;
    session = std::make_unique<Session>(port, no_torch(), settings, std::make_unique<LatePlans>());
    job = std::make_unique<FakeJob>(port, *session);
    for (int i = 0; i < 6 && session->state() != SessionState::kPlanned; ++i) job->iterate();
    ASSERT_EQ(session->state(), SessionState::kPlanned);
    kept = job->allocate(1000);
    ASSERT_TRUE(session->owns(kept));
    for (int i = 0; i < 10 && session->state() == SessionState::kPlanned; ++i) other_stream();
    ASSERT_EQ(session->state(), SessionState::kRecording);
  }
  void other_stream() {
    std::vector<void*> live;
    for (unsigned i = 1; i <= 8; ++i) live.push_back(job->allocate(3000 * i, 1));
    for (void* address : live) job->free(address);
    session->on_mark(MarkSource::kOptimizer);
  }
  /// The same, and within its mark, after `waits` questions, a graph's capture begins, which ends later.
  void other_stream_with_capture(int waits) {
    std::vector<void*> live;
    for (unsigned i = 1; i <= 8; ++i) live.push_back(job->allocate(3000 * i, 1));
    for (void* address : live) job->free(address);
    port.waits_until_capture = waits;
    session->on_mark(MarkSource::kOptimizer);
    port.waits_until_capture = std::numeric_limits<int>::max();
  }
  FakePort port;
  std::unique_ptr<Session> session;
  std::unique_ptr<FakeJob> job;
  void* kept = nullptr;
};

TEST_F(ArenaExchange, IsExchangedWhenNothingLivesInIt) {
  leave_the_first_plan();
  for (int i = 0; i < 6 && session->state() == SessionState::kRecording; ++i) other_stream();
  ASSERT_EQ(session->state(), SessionState::kPlanning);
  job->free(kept);
  for (int i = 0; i < 3; ++i) other_stream();
  ASSERT_EQ(session->state(), SessionState::kPlanned) << session->report_json();
  EXPECT_EQ(port.maps, 2);
  EXPECT_EQ(nlohmann::json::parse(session->report_json())["last_iteration_misses"], 0);
  void* const address = job->allocate(3000, 1);
  EXPECT_TRUE(session->owns(address));
  job->free(address);
}

TEST_F(ArenaExchange, IsLeftToATensorThatLivesInIt) {
  leave_the_first_plan();
  static_cast<char*>(kept)[999] = 7;
  for (int i = 0; i < 8; ++i) other_stream();
  ASSERT_EQ(session->state(), SessionState::kPlanned) << session->report_json();
  EXPECT_EQ(nlohmann::json::parse(session->report_json())["last_iteration_misses"], 0);
  EXPECT_EQ(port.maps, 2);
  EXPECT_TRUE(session->owns(kept));
  EXPECT_EQ(session->size_of(kept), Bytes(1024));
  EXPECT_EQ(static_cast<char*>(kept)[999], 7);
  EXPECT_EQ(session->active_blocks(kept).size(), 1u);
  const Bytes both = session->arena_bytes();
  EXPECT_TRUE(session->free_block(kept));
  EXPECT_FALSE(session->free_block(kept)) << "it is freed already";
  other_stream();
  EXPECT_LT(session->arena_bytes(), both) << "the old arena goes back once nothing lives in it";
  EXPECT_FALSE(session->owns(kept));
}

TEST_F(ArenaExchange, ComesLaterWhereACaptureBeginsInTheMarkThatItIsDueAt) {
  for (int waits = 0; waits < 6; ++waits) {
    leave_the_first_plan();
    for (int i = 0; i < 6 && session->state() == SessionState::kRecording; ++i) other_stream();
    ASSERT_EQ(session->state(), SessionState::kPlanning);
    other_stream_with_capture(waits);
    for (int i = 0; i < 8; ++i) other_stream();
    EXPECT_EQ(session->state(), SessionState::kPlanned) << "after " << waits << session->report_json();
    EXPECT_EQ(nlohmann::json::parse(session->report_json())["last_iteration_misses"], 0);
    job->free(kept);
    session = nullptr;  // one at a time
  }
}

TEST_F(ArenaExchange, ATensorOfAPlanThatWasGivenUpKeepsNothingButItsSegment) {
  leave_the_first_plan();
  session->stop();
  other_stream();
  EXPECT_TRUE(session->owns(kept));
  EXPECT_LE(session->arena_bytes(), Bytes(2u << 20));
  job->free(kept);
  other_stream();
  EXPECT_EQ(session->arena_bytes(), Bytes(0));
}

TEST_F(ArenaExchange, AnIdleArenaGoesBackWhileFreesOfUpstreamsBlocksWaitForOtherStreams) {
  leave_the_first_plan();
  void* const used = job->allocate(50'000);
  ASSERT_FALSE(session->record_stream(used, StreamId(1)));
  job->free(used);
  job->free(kept);
  other_stream();
  EXPECT_EQ(session->arena_bytes(), Bytes(0));
}

TEST_F(ArenaExchange, AnArenaStaysWhileAFreeInItWaitsForAnotherStream) {
  leave_the_first_plan();
  ASSERT_TRUE(session->record_stream(kept, StreamId(1)));
  job->free(kept);
  other_stream();
  EXPECT_GT(session->arena_bytes(), Bytes(0));
  port.pass_fences();
  other_stream();
  EXPECT_EQ(session->arena_bytes(), Bytes(0));
}

}  // namespace
}  // namespace stowage::session
