// A session under a budget: when it stops recording, when a plan is refused, and what it gives up for a
// request.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "tests/session/fake_port.h"
#include "tests/session/fake_torch.h"

namespace stowage::session {
namespace {

class SessionBudget : public ::testing::Test {
 protected:
  SessionBudget() { port_.counted = true; }
  static Settings settings(const char* budget) {
    Settings settings;
    settings.budget = *Budget::parse(budget);
    settings.record_ops = false;
    settings.plan_wait_ms = 60'000;
    return settings;
  }
  static void iterate(FakeJob& job, int times) {
    for (int i = 0; i < times; ++i) job.iterate();
  }
  FakePort port_;
  FakeTorch torch_;
};

TEST_F(SessionBudget, ThatFitsIsPlannedAndTheRuntimeIsTakenOut) {
  Session session(port_, torch_, settings("1MiB"));
  EXPECT_TRUE(torch_.installed && FakeTorch::guarded);
  FakeJob job(port_, session);
  iterate(job, 6);
  EXPECT_EQ(session.state(), SessionState::kPlanned);
  EXPECT_FALSE(torch_.installed || FakeTorch::guarded);
  EXPECT_EQ(port_.count.held(), session.arena_bytes());
  EXPECT_TRUE(port_.count.limited());
  session.stop();
  EXPECT_FALSE(port_.count.limited());
}

TEST_F(SessionBudget, AFailureThatNothingHelpsAgainstLeavesTheJobAlone) {
  Session session(port_, torch_, settings("1MiB"));
  FakeJob job(port_, session);
  iterate(job, 6);
  ASSERT_EQ(session.state(), SessionState::kPlanned);
  port_.broken = torch_.install_throws = true;
  job.iterate();
  port_.broken = false;
  EXPECT_EQ(session.state(), SessionState::kOff);
  iterate(job, 3);
  session.stop();  // would wait for good, if the conductor had not come out of the failure
}

TEST_F(SessionBudget, WhoseArenaHasNoRoomIsHeldWithoutAPlanAndSaysWhy) {
  port_.count.take(Bytes(1'000'000));
  Session session(port_, torch_, settings("1010000"));
  FakeJob job(port_, session);
  iterate(job, 40);
  EXPECT_EQ(session.state(), SessionState::kRescuing);
  EXPECT_TRUE(torch_.installed);
  EXPECT_EQ(port_.maps, 0);
  const auto report = nlohmann::json::parse(session.report_json());
  EXPECT_EQ(report["state"], "rescuing");
  EXPECT_NE(report["reason"].get<std::string>().find("does not fit"), std::string::npos);
  EXPECT_EQ(report["budget"]["limit_bytes"], 1010000);
}

TEST_F(SessionBudget, EvictingIterationsEndRecordingAndCalmOnesBeginItAgain) {
  Session session(port_, torch_, settings("1MiB"));
  FakeJob job(port_, session);
  for (int i = 0; i < 3; ++i) {
    ++torch_.counts.evictions;
    job.iterate();
  }
  EXPECT_EQ(session.state(), SessionState::kRescuing);
  ++torch_.counts.evictions;
  iterate(job, 16);
  EXPECT_EQ(session.state(), SessionState::kRescuing);
  iterate(job, 1);
  EXPECT_EQ(session.state(), SessionState::kRecording);
  iterate(job, 6);
  EXPECT_EQ(session.state(), SessionState::kPlanned);
}

TEST_F(SessionBudget, ARequestThatNeedsRoomTakesWhatNobodyUsesOfTheArena) {
  Session session(port_, torch_, settings("100000"));
  FakeJob job(port_, session);
  iterate(job, 6);
  ASSERT_EQ(session.state(), SessionState::kPlanned);
  void* const used = session.try_allocate(Bytes(1000), StreamId(0));
  ASSERT_NE(used, nullptr);
  const Bytes wanted(99'000);
  EXPECT_FALSE(port_.count.try_take(wanted));
  EXPECT_TRUE(session.make_room(wanted));
  EXPECT_EQ(port_.count.held(), Bytes(1024));
  EXPECT_EQ(session.try_allocate(Bytes(2000), StreamId(0)), nullptr);
  EXPECT_TRUE(session.free(used));
  session.on_mark(MarkSource::kOptimizer);
  EXPECT_EQ(session.state(), SessionState::kRecording);
  EXPECT_TRUE(torch_.installed);
  EXPECT_EQ(port_.count.held(), Bytes(0));
  EXPECT_FALSE(session.make_room(Bytes(200'000)));
  EXPECT_NE(session.explain_shortage(Bytes(200'000)).find("nothing is left"), std::string::npos);
}

TEST_F(SessionBudget, TheMostRoomIsWhatTheLimitLeavesBesideWhatStays) {
  Session unlimited(port_, torch_, Settings());
  EXPECT_EQ(unlimited.most_room(), std::nullopt);
  Session session(port_, torch_, settings("100000"));
  ASSERT_TRUE(port_.count.try_take(Bytes(70'000)));
  EXPECT_EQ(session.most_room(), Bytes(30'000));
  torch_.evictable_bytes = Bytes(50'000);
  EXPECT_EQ(session.most_room(), Bytes(80'000));
  port_.count.give(Bytes(70'000));
}

TEST_F(SessionBudget, ARequestThatNeedsRoomWaitsForTheMarkOfAnotherThread) {
  Session session(port_, torch_, settings("100000"));
  FakeJob job(port_, session);
  iterate(job, 6);
  ASSERT_EQ(session.state(), SessionState::kPlanned);
  std::latch inside(1);
  port_.in_next_mark = [&] {
    inside.count_down();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the machine is busy
  };
  std::thread other([&] { session.on_mark(MarkSource::kOptimizer); });
  inside.wait();
  EXPECT_TRUE(session.make_room(Bytes(99'000)));
  other.join();
}

// That mark may wait for the runtime.
TEST_F(SessionBudget, WhoRecomputesWaitsForNoMarkToEnd) {
  Session session(port_, torch_, settings("100000"));
  FakeJob job(port_, session);
  iterate(job, 6);
  std::latch inside(1), gone(1);
  port_.in_next_mark = [&] {
    inside.count_down();
    gone.wait();
  };
  std::thread other([&] { session.on_mark(MarkSource::kOptimizer); });
  inside.wait();
  torch_.recomputing = true;
  EXPECT_FALSE(session.make_room(Bytes(99'000)));
  gone.count_down();
  other.join();
}

// The runtime restores what is evicted.
TEST_F(SessionBudget, ARequestWithinAMarkTakesWhatNobodyUsesOfTheArenaToo) {
  Session session(port_, torch_, settings("100000"));
  FakeJob job(port_, session);
  iterate(job, 6);
  ASSERT_EQ(session.state(), SessionState::kPlanned);
  bool gave = false;
  port_.in_next_mark = [&] { gave = session.make_room(Bytes(99'000)); };
  session.on_mark(MarkSource::kOptimizer);
  EXPECT_TRUE(gave);
}

// As a notebook's outputs do.
TEST_F(SessionBudget, ATensorThatStaysInTheArenaOfAnOldPlanKeepsNoNewOneAway) {
  port_.on_touch = true;
  Settings changing = settings("400000");
  changing.diverged_iterations = 3;
  changing.max_plans = 1;
  Session session(port_, torch_, changing);
  FakeJob job(port_, session);
  iterate(job, 6);
  ASSERT_EQ(session.state(), SessionState::kPlanned);
  void* const kept = job.allocate(1000);
  ASSERT_TRUE(session.owns(kept));
  static_cast<char*>(kept)[999] = 7;
  const auto other_stream = [&] {  // which no arena of the first plan serves
    std::vector<void*> live;
    for (unsigned i = 1; i <= 8; ++i) live.push_back(job.allocate(3000 * i, 1));
    for (void* address : live) job.free(address);
    session.on_mark(MarkSource::kOptimizer);
  };
  for (int i = 0; i < 20 && port_.maps == 1; ++i) other_stream();
  other_stream();
  ASSERT_EQ(session.state(), SessionState::kPlanned) << session.report_json();
  EXPECT_EQ(port_.maps, 2);
  EXPECT_TRUE(session.owns(kept));
  EXPECT_EQ(static_cast<char*>(kept)[999], 7);
  const Bytes both = port_.count.held();
  EXPECT_TRUE(session.free(kept));
  other_stream();
  EXPECT_EQ(session.state(), SessionState::kPlanned);
  EXPECT_EQ(port_.count.held() + Bytes(1024), both) << "of the old arena only what lived in it was counted";
  EXPECT_FALSE(session.owns(kept));
}

TEST_F(SessionBudget, OfItsOwnPeakIsALimitAfterTwoIterations) {
  Session session(port_, torch_, settings("50%"));
  FakeJob job(port_, session);
  port_.count.take(Bytes(8000));
  job.iterate();
  EXPECT_FALSE(port_.count.limited());
  port_.count.give(Bytes(6000));
  job.iterate();
  EXPECT_EQ(port_.count.limit(), Bytes(4000));
}

TEST_F(SessionBudget, OfItsOwnPeakIsNotAnnouncedWhileMoreIsHeldThatCannotBeEvicted) {
  Session session(port_, torch_, settings("50%"));
  FakeJob job(port_, session);
  const auto told = [&] { return nlohmann::json::parse(session.report_json())["budget"]; };
  port_.count.take(Bytes(8000));
  iterate(job, 2);
  EXPECT_EQ(told()["limit_bytes"], 0);
  EXPECT_EQ(told()["excess_bytes"], 4000);
  EXPECT_FALSE(port_.count.try_take(Bytes(1)));
  port_.count.give(Bytes(4500));
  EXPECT_EQ(told()["limit_bytes"], 4000);
  EXPECT_EQ(told()["excess_bytes"], 0);
  EXPECT_EQ(told()["peak_held_bytes"], 3500);
}

TEST_F(SessionBudget, OfItsOwnPeakRisesWhereTheJobAsksForMoreThanThat) {
  Session session(port_, torch_, settings("50%"));
  FakeJob job(port_, session);
  port_.count.take(Bytes(8000));
  job.iterate();
  port_.count.give(Bytes(6000));
  job.iterate();
  ASSERT_EQ(port_.count.limit(), Bytes(4000));
  EXPECT_FALSE(session.make_room(Bytes(3000)));
  EXPECT_EQ(port_.count.limit(), Bytes(4000)) << "it has held more than that before";
  torch_.away = 5000;
  EXPECT_TRUE(session.make_room(Bytes(3000)));
  EXPECT_EQ(port_.count.limit(), Bytes(5000));
  EXPECT_EQ(nlohmann::json::parse(session.report_json())["budget"]["own_peak_bytes"], 10'000);
  EXPECT_EQ(port_.count.missing(Bytes(3000)), Bytes(0));
}

TEST_F(SessionBudget, LeastRisesToWhatIsHeldWhenNothingCanBeFreed) {
  Session session(port_, torch_, settings("least"));
  FakeJob job(port_, session);
  port_.count.take(Bytes(800'000));
  job.iterate();
  port_.count.give(Bytes(799'000));
  job.iterate();
  ASSERT_EQ(port_.count.limit(), Bytes(8000));
  torch_.may_fail_now = true;
  EXPECT_FALSE(session.make_room(Bytes(9000))) << "something else is tried";
  EXPECT_EQ(port_.count.limit(), Bytes(8000));
  torch_.may_fail_now = false;
  EXPECT_TRUE(session.make_room(Bytes(9000)));
  EXPECT_EQ(port_.count.limit(), port_.count.held() + Bytes(9000));
  EXPECT_EQ(torch_.noted_limit, port_.count.limit());
  EXPECT_FALSE(session.make_room(Bytes(9'000'000)) && session.make_room(Bytes(90'000'000)))
      << "far above the job's own peak";
}

TEST_F(SessionBudget, OfItsOwnPeakIsALimitWhereNobodyMarksAndIsLearnedAnewWhereAnOptimizerSteps) {
  Session session(port_, torch_, settings("50%"));
  FakeJob job(port_, session);
  port_.count.take(Bytes(8000));
  std::uint64_t random = 1;
  for (int request = 0; request < 400 && !port_.count.limited(); ++request) {
    std::vector<void*> live;
    for (int i = 0; i < 10; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      live.push_back(job.allocate(4000 + (random >> 52u)));
    }
    for (void* address : live) job.free(address);
  }
  EXPECT_EQ(port_.count.limit(), Bytes(4000));
  port_.count.give(Bytes(6000));
  testing::internal::CaptureStderr();
  EXPECT_TRUE(session.make_room(Bytes(3000))) << "such a limit is a guess";
  EXPECT_TRUE(session.make_room(Bytes(5000)));
  EXPECT_EQ(port_.count.missing(Bytes(5000)), Bytes(0));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  job.iterate();
  EXPECT_FALSE(port_.count.limited());
  iterate(job, 2);
  EXPECT_TRUE(port_.count.limited());
}

TEST_F(SessionBudget, ThatFitsKeepsTheRuntimeWhileAnotherThreadTrains) {
  torch_.threads = 2;
  Session session(port_, torch_, settings("1MiB"));
  FakeJob job(port_, session);
  iterate(job, 6);
  EXPECT_EQ(session.state(), SessionState::kPlanned);
  EXPECT_TRUE(torch_.installed);
  torch_.threads = 1;
  iterate(job, 1);
  EXPECT_FALSE(torch_.installed);
}

TEST_F(SessionBudget, ThatIsUsedUpWaitsForWhatOpsOfOtherThreadsHold) {
  Session session(port_, torch_, settings("1MiB"));
  constexpr Bytes kHeld{1u << 20};
  port_.count.take(kHeld);
  EXPECT_FALSE(session.make_room(Bytes(1000))) << "nobody else is there";
  torch_.threads = 2;
  EXPECT_FALSE(session.make_room(Bytes(1000))) << "they never give anything";
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    port_.count.give(kHeld);
  });
  EXPECT_TRUE(session.make_room(Bytes(1000)));
  other.join();
}

TEST_F(SessionBudget, ThatUpstreamRefusesWaitsForWhatOpsOfOtherThreadsHold) {
  Session session(port_, torch_, settings("1MiB"));
  torch_.threads = 2;
  EXPECT_FALSE(session.make_room_upstream(Bytes(1000))) << "that it fits as it is counted says nothing";
  torch_.searches_in_vain = 5;
  EXPECT_TRUE(session.make_room_upstream(Bytes(1000)));
  EXPECT_EQ(torch_.searches_in_vain, -1);
}

TEST_F(SessionBudget, IsRefusedWhereNothingIsCountedAndTheJobIsPlanned) {
  port_.counted = false;
  Session session(port_, torch_, settings("1MiB"));
  EXPECT_FALSE(torch_.installed);
  FakeJob job(port_, session);
  iterate(job, 6);
  EXPECT_EQ(session.state(), SessionState::kPlanned);
}

}  // namespace
}  // namespace stowage::session
