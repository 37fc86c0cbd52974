// A session with a budget of "auto": nothing before the job has nearly filled the device, and what happens
// then.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "session/budget/device_watch.h"
#include "tests/session/fake_port.h"
#include "tests/session/fake_torch.h"

namespace stowage::session {
namespace {

constexpr Bytes kDevice{1'000'000};

TEST(DeviceWatch, LooksSixtyFourTimesWhileTheDeviceFillsUp) {
  DeviceWatch watch;
  EXPECT_TRUE(watch.on_alloc(Bytes(10))) << "nobody knows what the job can get";
  EXPECT_FALSE(watch.is_near(Bytes(10), Bytes(6'491)));
  int looks = 0;
  for (int i = 0; i < 640; ++i) looks += watch.on_alloc(Bytes(10)) ? 1 : 0;
  EXPECT_EQ(looks, 64);
  EXPECT_TRUE(watch.on_alloc(Bytes(6'400)));
}

TEST(DeviceWatch, NearIsThreeEighthsOfWhatTheJobCanGet) {
  DeviceWatch watch;
  EXPECT_EQ(DeviceWatch::limit_of(Bytes(400), Bytes(240)), Bytes(630));
  EXPECT_FALSE(watch.is_near(Bytes(236), Bytes(404)));
  EXPECT_TRUE(watch.is_near(Bytes(237), Bytes(403)));
}

TEST(DeviceWatch, OfAJobThatFittedNearIsHalfwayFromItsPeakToTheLimit) {
  DeviceWatch watch;
  watch.note_fitting(Bytes(530));
  EXPECT_FALSE(watch.is_near(Bytes(580), Bytes(60)));
  EXPECT_TRUE(watch.is_near(Bytes(581), Bytes(59)));
}

class SessionAutoBudget : public ::testing::Test {
 protected:
  SessionAutoBudget() {
    port_.counted = true;
    port_.info.device = {DeviceKind::kCuda, 0};
    port_.info.device_memory = kDevice;
    port_.free = kDevice;
  }
  static Settings settings(const char* budget = "") {
    Settings settings;
    settings.budget = *Budget::parse(budget);
    settings.record_ops = false;
    settings.plan_wait_ms = 60'000;
    return settings;
  }
  /// The job holds `bytes` more until the test ends.
  void* fill(FakeJob& job, std::uint64_t bytes) {
    port_.free = *port_.free - Bytes(bytes);
    return job.allocate(bytes);
  }
  /// The same with more than three eighths of the device, and "auto" takes effect.
  void fill_until_it_joins(FakeJob& job) {
    fill(job, 520'000);
    torch_.between_ops();
  }
  static nlohmann::json report(const Session& session) {
    return nlohmann::json::parse(session.report_json());
  }

  FakePort port_;
  FakeTorch torch_;
};

TEST_F(SessionAutoBudget, CostsNothingWhileTheDeviceIsNotFull) {
  Session session(port_, torch_, settings());
  FakeJob job(port_, session);
  fill(job, 350'000);
  for (int i = 0; i < 8; ++i) job.iterate();
  EXPECT_EQ(session.state(), SessionState::kPlanned);
  EXPECT_FALSE(torch_.installed || FakeTorch::guarded || port_.count.limited() || session.has_budget());
  EXPECT_EQ(torch_.calls_asked, 0);
  EXPECT_FALSE(report(session).contains("budget"));
}

TEST_F(SessionAutoBudget, TakesEffectBetweenTwoOpsOfTheFirstIteration) {
  Session session(port_, torch_, settings());
  FakeJob job(port_, session);
  fill(job, 520'000);
  ASSERT_TRUE(torch_.between_ops);
  EXPECT_FALSE(torch_.installed) << "an op is running";
  torch_.between_ops();
  EXPECT_TRUE(torch_.installed && FakeTorch::guarded);
  EXPECT_EQ(torch_.joins, 1);
  EXPECT_EQ(port_.count.held(), Bytes(520'000));
  EXPECT_EQ(port_.count.limit(), Bytes(1'000'000 - 1'000'000 / 64));
  const auto budget = report(session)["budget"];
  EXPECT_EQ(budget["setting"], "auto");
  EXPECT_EQ(budget["joins"], 1);
  EXPECT_EQ(budget["joined_at_iteration"], 0);
  EXPECT_EQ(budget["limit_bytes"], 1'000'000 - 1'000'000 / 64);
}

TEST_F(SessionAutoBudget, LeavesAgainWhereIterationsFitAndComesBackWhenTheyDoNot) {
  Session session(port_, torch_, settings());
  FakeJob job(port_, session);
  fill_until_it_joins(job);
  for (int i = 0; i < 4; ++i) job.iterate();
  EXPECT_FALSE(torch_.installed || port_.count.limited() || session.has_budget());
  EXPECT_EQ(torch_.noted_limit, Bytes(0));
  for (int i = 0; i < 6; ++i) job.iterate();
  EXPECT_EQ(session.state(), SessionState::kPlanned);
  EXPECT_EQ(torch_.calls_asked, 1) << "its peak is known to fit";
  fill(job, 300'000);
  EXPECT_EQ(torch_.calls_asked, 2);
  torch_.between_ops();
  EXPECT_EQ(session.state(), SessionState::kRecording) << "a plan is for iterations that evict nothing";
  EXPECT_TRUE(torch_.installed && port_.count.limited());
  EXPECT_EQ(report(session)["budget"]["joins"], 2);
}

TEST_F(SessionAutoBudget, ASecondCallBetweenOpsDoesNotEndWhatTheFirstBegan) {
  Session session(port_, torch_, settings());
  FakeJob job(port_, session);
  fill_until_it_joins(job);
  session.between_ops();
  EXPECT_TRUE(torch_.installed && session.has_budget());
}

TEST_F(SessionAutoBudget, LeavesAgainWhereNobodyMarksIterations) {
  Session session(port_, torch_, settings());
  FakeJob job(port_, session);
  fill_until_it_joins(job);
  torch_.between_ops = nullptr;
  const auto serve = [&](int requests) {
    for (int i = 0; i < requests; ++i) {
      void* const hidden = job.allocate(100'000);
      job.free(job.allocate(100'000));
      job.free(hidden);
    }
  };
  serve(1000);
  EXPECT_FALSE(torch_.between_ops)
      << "so much may be workspaces of a first pass: nobody knows the job's peak yet";
  serve(100);
  ASSERT_TRUE(torch_.between_ops);
  torch_.between_ops();
  EXPECT_FALSE(torch_.installed || port_.count.limited() || session.has_budget());
}

TEST_F(SessionAutoBudget, StaysWithoutMarksWhereRoomWasMade) {
  Session session(port_, torch_, settings());
  FakeJob job(port_, session);
  fill_until_it_joins(job);
  torch_.between_ops = nullptr;
  session.make_room(Bytes(900'000));
  for (int i = 0; i < 2100; ++i) job.free(job.allocate(100'000));
  EXPECT_FALSE(torch_.between_ops);
  EXPECT_TRUE(torch_.installed);
}

TEST_F(SessionAutoBudget, StaysWhileIterationsEvict) {
  Session session(port_, torch_, settings());
  FakeJob job(port_, session);
  fill_until_it_joins(job);
  for (int i = 0; i < 12; ++i) {
    ++torch_.counts.evictions;
    job.iterate();
  }
  EXPECT_TRUE(torch_.installed && port_.count.limited());
  EXPECT_EQ(session.state(), SessionState::kRescuing);
}

TEST_F(SessionAutoBudget, WithoutPythonsQueueTakesEffectAtTheNextMark) {
  torch_.has_python = false;
  Session session(port_, torch_, settings());
  FakeJob job(port_, session);
  fill(job, 520'000);
  EXPECT_FALSE(torch_.installed);
  session.on_mark(MarkSource::kPeriod);
  EXPECT_FALSE(torch_.installed) << "such a mark comes inside an op";
  session.on_mark(MarkSource::kOptimizer);
  EXPECT_TRUE(torch_.installed);
}

TEST_F(SessionAutoBudget, DoesNotTakeEffectWhereTheJobHasFreedMemoryMeanwhile) {
  Session session(port_, torch_, settings());
  FakeJob job(port_, session);
  void* const block = fill(job, 520'000);
  job.free(block);
  port_.free = kDevice;
  torch_.between_ops();
  EXPECT_FALSE(torch_.installed);
  fill(job, 520'000);
  EXPECT_EQ(torch_.calls_asked, 2);
  torch_.between_ops();
  EXPECT_TRUE(torch_.installed);
}

TEST_F(SessionAutoBudget, EvictsNothingThatAGraphReadsByAddress) {
  port_.read_by_address = true;
  Session session(port_, torch_, settings());
  FakeJob job(port_, session);
  fill_until_it_joins(job);
  fill(job, 200'000);
  EXPECT_EQ(torch_.calls_asked, 1);
  EXPECT_FALSE(torch_.installed || port_.count.limited());
}

TEST_F(SessionAutoBudget, AnErrorBeforeItTookEffectSaysWhatToDo) {
  Session session(port_, torch_, settings());
  FakeJob job(port_, session);
  EXPECT_NE(session.explain_unseen_shortage().find("STOWAGE_BUDGET=95%device"), std::string::npos);
  EXPECT_EQ(torch_.calls_asked, 0) << "there is room";
  port_.free = Bytes(1'000);
  job.allocate(2'000);
  static_cast<void>(session.explain_unseen_shortage());
  EXPECT_EQ(torch_.calls_asked, 1) << "the job may go on with a smaller batch";
}

TEST_F(SessionAutoBudget, IsNotThereWhereTheUserSaysNone) {
  Session session(port_, torch_, settings("none"));
  FakeJob job(port_, session);
  fill(job, 900'000);
  EXPECT_EQ(torch_.calls_asked, 0);
  EXPECT_TRUE(session.explain_unseen_shortage().empty());
}

TEST_F(SessionAutoBudget, IsNotTheDefaultOnTheCpu) {
  port_.info.device = {DeviceKind::kCpu, 0};
  Session session(port_, torch_, settings());
  FakeJob job(port_, session);
  fill(job, 900'000);
  EXPECT_EQ(torch_.calls_asked, 0);
  testing::internal::CaptureStderr();
  const Session asked(port_, torch_, settings("auto"));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("on the CPU write 80%device"), std::string::npos);
}

TEST_F(SessionAutoBudget, EndsWithTheSession) {
  Session session(port_, torch_, settings());
  FakeJob job(port_, session);
  fill_until_it_joins(job);
  session.stop();
  EXPECT_FALSE(torch_.installed || port_.count.limited());
  torch_.between_ops();
  EXPECT_FALSE(torch_.installed);
}

}  // namespace
}  // namespace stowage::session
