// When a session has its job's ops written down: once, and only where the allocations repeat themselves.
#include <gtest/gtest.h>

#include <memory>

#include "tests/session/fake_port.h"
#include "tests/session/fake_torch.h"

namespace stowage::session {
namespace {

struct SessionOps : testing::Test {
  void start(std::uint64_t most_iterations = 50, bool record_ops = true) {
    Settings settings;
    settings.plan_wait_ms = 60'000;
    settings.record_iterations = most_iterations;
    settings.record_ops = record_ops;
    session = std::make_unique<Session>(port, torch, settings);
    job = std::make_unique<FakeJob>(port, *session);
  }

  FakePort port;
  FakeTorch torch;
  std::unique_ptr<Session> session;
  std::unique_ptr<FakeJob> job;
};

TEST_F(SessionOps, AreWrittenDownInTheWindowAfterTwoThatAgreeAndNoLonger) {
  start();
  job->iterate(5);
  job->iterate(8);
  EXPECT_FALSE(torch.observing_ops);
  job->iterate(8);
  EXPECT_TRUE(torch.observing_ops);
  EXPECT_EQ(session->state(), SessionState::kRecording);
  job->iterate(8);
  EXPECT_FALSE(torch.observing_ops);
  EXPECT_EQ(session->state(), SessionState::kPlanned);
}

TEST_F(SessionOps, AreWrittenDownForAWholeWindowOfTwoMarks) {
  start();
  for (int i = 0; i < 2; ++i) job->iterate(5), job->iterate(8);
  EXPECT_TRUE(torch.observing_ops);
  job->iterate(5);
  EXPECT_TRUE(torch.observing_ops);
  job->iterate(8);
  EXPECT_EQ(session->state(), SessionState::kPlanned);
}

TEST_F(SessionOps, AreNotWrittenDownWhereNothingRepeatsOrNobodyWantsThem) {
  start();
  for (int i = 0; i < 9; ++i) {
    job->iterate(3 + i);
    EXPECT_FALSE(torch.observing_ops);
  }
  start(50, false);
  for (int i = 0; i < 2; ++i) job->iterate();
  EXPECT_FALSE(torch.observing_ops);
  EXPECT_EQ(session->state(), SessionState::kPlanned);
}

TEST_F(SessionOps, StopAgainWhereTheJobStopsRepeatingItself) {
  start(5);
  for (const int count : {1, 1, 2, 3, 4}) job->iterate(count);
  EXPECT_TRUE(torch.observing_ops);
  EXPECT_EQ(session->state(), SessionState::kRecording);  // the last allowed iteration, but two have agreed
  job->iterate(5);
  EXPECT_FALSE(torch.observing_ops);
  EXPECT_EQ(session->state(), SessionState::kOnline);
}

TEST_F(SessionOps, SurviveAnEvaluationBetweenTwoThatAgree) {
  start();
  for (const int count : {8, 8, 5, 8}) {
    job->iterate(count);
    EXPECT_EQ(session->state(), SessionState::kRecording);
  }
  job->iterate(8);
  EXPECT_EQ(session->state(), SessionState::kPlanned);
}

}  // namespace
}  // namespace stowage::session
