// The session on a fake device: it plans what repeats, serves upstream what does not, and survives every
// failure.
#include "session/session.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "tests/session/fake_port.h"

namespace stowage::session {
namespace {

Settings patient() {
  Settings settings;
  settings.plan_wait_ms = 60'000;
  return settings;
}

struct SessionTest : testing::Test {
  void start(const Settings& settings = patient()) {
    session = std::make_unique<Session>(port, no_torch(), settings);
    job = std::make_unique<FakeJob>(port, *session);
  }
  void reach_plan() {
    for (int i = 0; i < 6 && session->state() != SessionState::kPlanned; ++i) job->iterate();
    ASSERT_EQ(session->state(), SessionState::kPlanned);
    job->iterate();
  }
  nlohmann::json report() { return nlohmann::json::parse(session->report_json()); }
  std::uint64_t last_misses() { return report()["last_iteration_misses"]; }
  /// Iterations of the given kind until one has no miss; more than `most` is a failure.
  template <class Iterate>
  int until_clean(int most, Iterate iterate) {
    for (int i = 1; i <= most; ++i) {
      iterate();
      if (session->state() == SessionState::kPlanned && last_misses() == 0) return i;
    }
    ADD_FAILURE() << "never clean: " << session->report_json();
    return most + 1;
  }

  FakePort port;
  std::unique_ptr<Session> session;
  std::unique_ptr<FakeJob> job;
};

TEST_F(SessionTest, PlansWhatRepeatsAndServesItWithoutAMiss) {
  start();
  reach_plan();
  for (int i = 0; i < 5; ++i) job->iterate();
  EXPECT_EQ(last_misses(), 0u);
  EXPECT_EQ(report()["clean_iterations"], report()["planned_iterations"]);
  EXPECT_EQ(port.maps, 1);
  EXPECT_EQ(port.upstream_use().allocated, Bytes(0));
  EXPECT_EQ(session->arena_live_bytes(), Bytes(0));
  EXPECT_GT(session->peak_bytes(), Bytes(36'000));
}

TEST_F(SessionTest, OneAllocationMoreOrFewerOrLargerIsBackInPlanAfterwards) {
  start();
  reach_plan();
  void* kept = nullptr;
  job->iterate(8, [&] { job->free(job->allocate(77'777)); });
  EXPECT_EQ(last_misses(), 1u);
  job->iterate();
  EXPECT_EQ(last_misses(), 0u);
  job->iterate(7);
  job->iterate();
  EXPECT_EQ(last_misses(), 0u);
  job->iterate(8, [&] { kept = job->allocate(123'456); });
  job->iterate();
  EXPECT_EQ(last_misses(), 0u);
  job->free(kept);
}

TEST_F(SessionTest, AnIterationThatBreaksOffIsFollowedByACleanOne) {
  start();
  reach_plan();
  std::vector<void*> live;
  for (int i = 0; i < 4; ++i) live.push_back(job->allocate(1000u * static_cast<unsigned>(i + 1)));
  for (void* address : live) job->free(address);
  job->iterate();
  job->iterate();
  EXPECT_EQ(last_misses(), 0u);
}

TEST_F(SessionTest, ASlotThatIsStillInUseIsNeverGivenTwice) {
  start();
  reach_plan();
  void* kept = job->allocate(1000);
  ASSERT_TRUE(session->owns(kept));
  for (int i = 0; i < 3; ++i)
    job->iterate(8, [&] {
      void* other = job->allocate(1000);
      EXPECT_NE(other, kept);
      job->free(other);
    });
  job->free(kept);
  EXPECT_EQ(until_clean(3, [&] { job->iterate(); }), 1);
}

TEST_F(SessionTest, ASecondKindOfIterationGetsItsOwnPlan) {
  start();
  reach_plan();
  const auto evaluate = [&] {
    job->iterate(8, [&] { job->free(job->allocate(50'000)), job->free(job->allocate(60'000)); });
  };
  for (int i = 0; i < 6; ++i) {
    evaluate();
    job->iterate();
    job->iterate();
  }
  EXPECT_EQ(report()["plans"].size(), 2u);
  evaluate();
  EXPECT_EQ(last_misses(), 0u);
  job->iterate();
  EXPECT_EQ(last_misses(), 0u);
}

// Gradients live on into the next iteration, which lets go of them first; every third begins with an
// evaluation instead, while they are there.
TEST_F(SessionTest, AnEvaluationEveryThirdIterationHasNoMissOnceItIsKnown) {
  start();
  std::vector<void*> gradients;
  const auto forward = [&](bool keep) {
    std::vector<void*> live;
    for (unsigned i = 1; i <= 8; ++i) live.push_back(job->allocate(4000 * i));
    while (!live.empty()) {
      if (keep) gradients.push_back(job->allocate(10'000 + 1000 * live.size()));
      job->free(live.back());
      live.pop_back();
    }
  };
  const auto iterate = [&](bool evaluates) {
    if (evaluates) forward(false);
    for (void* gradient : gradients) job->free(gradient);
    gradients.clear();
    forward(true);
    session->on_mark(MarkSource::kOptimizer);
  };
  for (int i = 0; i < 30; ++i) iterate(i >= 6 && i % 3 == 0);
  EXPECT_EQ(report()["plans"].size(), 2u);
  const std::uint64_t upstream = report()["planned_upstream"];
  for (int i = 30; i < 39; ++i) {
    iterate(i % 3 == 0);
    EXPECT_EQ(last_misses(), 0u) << "iteration " << i;
  }
  EXPECT_EQ(report()["planned_upstream"], upstream);
  for (void* gradient : gradients) job->free(gradient);
}

// Four micro-steps, each marked by the user: the first makes the gradients, the middle ones add to them, the
// last has the optimizer's buffers too. First and middle ones make the same requests. The plan is there
// before the optimizer's first step, whose state is as large as what the plan has: it must not settle in the
// arena.
TEST_F(SessionTest, FirstMiddleAndLastMicroStepsHaveNoMissOnceTheyAreKnown) {
  start();
  std::vector<void*> gradients, optimizer_state;
  const auto optimizer_step = [&] {
    session->on_optimizer_begin();
    for (unsigned i = 1; i <= 8 && optimizer_state.size() < 8; ++i)
      optimizer_state.push_back(job->allocate(4000 * i));
    for (unsigned i = 1; i <= 3; ++i) job->free(job->allocate(50'000 * i));
    session->on_mark(MarkSource::kOptimizer);
  };
  const auto micro_step = [&](int number) {
    if (number == 0) {
      for (void* gradient : gradients) job->free(gradient);
      gradients.clear();
    }
    std::vector<void*> live;
    for (unsigned i = 1; i <= 8; ++i) live.push_back(job->allocate(4000 * i));
    while (!live.empty()) {
      void* const gradient = job->allocate(10'000 + 1000 * live.size());
      number == 0 ? gradients.push_back(gradient) : job->free(gradient);
      job->free(live.back());
      live.pop_back();
    }
    if (number == 3) optimizer_step();
    session->on_mark(MarkSource::kUser);
  };
  for (int i = 0; i < 60; ++i) micro_step(i % 4);
  ASSERT_EQ(session->state(), SessionState::kPlanned) << session->report_json();
  EXPECT_GE(report()["plans"].size(), 2u);
  for (void* state : optimizer_state) EXPECT_FALSE(session->owns(state));
  const std::uint64_t upstream = report()["planned_upstream"];
  for (int i = 60; i < 72; ++i) {
    micro_step(i % 4);
    EXPECT_EQ(last_misses(), 0u) << "micro-step " << i << session->report_json();
  }
  // What is as large as a gradient may be upstream's by plan, in the three kinds that ask for the same:
  // gradients live through the other kinds. Nothing else is.
  EXPECT_LE(report()["planned_upstream"], upstream + std::uint64_t{3 * 3 * 8});
  for (void* gradient : gradients) job->free(gradient);
  for (void* state : optimizer_state) job->free(state);
}

TEST_F(SessionTest, AJobThatNeverRepeatsIsLeftAlone) {
  Settings settings = patient();
  settings.record_iterations = 10;
  settings.online = false;
  start(settings);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 20; ++i) job->iterate(3 + i);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(session->state(), SessionState::kOff);
  EXPECT_EQ(port.maps, 0);
  EXPECT_EQ(port.outs, 1);
  EXPECT_FALSE(session->needs_marks());
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(SessionTest, AJobThatLeavesItsPlanForGoodIsRecordedAgainAndThenLeftAlone) {
  Settings settings = patient();
  settings.max_replans = 1;
  settings.diverged_iterations = 3;
  settings.record_iterations = 1000;
  settings.max_plans = 1;
  settings.online = false;
  start(settings);
  reach_plan();
  int length = 20;
  for (int i = 0; i < 10 && session->state() == SessionState::kPlanned; ++i) job->iterate(++length);
  ASSERT_EQ(session->state(), SessionState::kRecording);
  job->iterate(++length);
  EXPECT_EQ(session->arena_bytes(), Bytes(0)) << "an arena that nothing lives in goes back";
  reach_plan();
  testing::internal::CaptureStderr();
  for (int i = 0; i < 10 && session->state() == SessionState::kPlanned; ++i) job->iterate(++length);
  EXPECT_EQ(session->state(), SessionState::kOff);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("left its plan"), std::string::npos);
}

// ---- failures: one warning, and the job goes on

struct FaultTest : SessionTest, testing::WithParamInterface<Fault> {};

TEST_P(FaultTest, IsOneWarningAndTheJobGoesOn) {
  Settings settings = patient();
  settings.fault = GetParam();
  if (GetParam() == Fault::kNone) port.no_memory = true;  // the device itself has no room for the arena
  start(settings);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 10; ++i) job->iterate();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(session->state(), SessionState::kOff);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(report()["reason"], "");
}

INSTANTIATE_TEST_SUITE_P(Each, FaultTest,
                         testing::Values(Fault::kNone, Fault::kPlanner, Fault::kThread, Fault::kArena));

// ---- streams

TEST_F(SessionTest, ASlotUsedByAnotherStreamIsHeldUntilItsFencePasses) {
  start();
  reach_plan();
  void* used = job->allocate(1000);
  ASSERT_TRUE(session->record_stream(used, StreamId(1)));
  job->free(used);
  EXPECT_GT(session->arena_live_bytes(), Bytes(0)) << "the stream may still be reading";
  session->on_mark(MarkSource::kOptimizer);
  void* next = job->allocate(1000);
  EXPECT_NE(next, used);
  job->free(next);
  session->on_mark(MarkSource::kOptimizer);
  port.pass_fences();
  EXPECT_EQ(job->allocate(1000), used) << "as upstream looks before it serves a request";
}

// ---- marks, stopping, forks, threads

TEST_F(SessionTest, UserMarksTakePrecedenceOverTheOptimizers) {
  start();
  for (int i = 0; i < 12; ++i) {
    job->iterate(4);
    job->iterate(6);
    session->on_mark(MarkSource::kUser);
  }
  ASSERT_EQ(session->state(), SessionState::kPlanned);
  EXPECT_EQ(report()["plans"][0]["entries"], 10);
  EXPECT_EQ(last_misses(), 0u);
}

TEST_F(SessionTest, WithoutAnyMarksTheAllocationsTellWhereAnIterationBegins) {
  start();
  for (int i = 0; i < 12; ++i) {
    std::vector<void*> live;
    for (unsigned k = 0; k < 30; ++k) live.push_back(job->allocate(600u * (k % 7 + 1) + 40'000u * (k / 29)));
    for (void* address : live) job->free(address);
  }
  ASSERT_EQ(session->state(), SessionState::kPlanned) << session->report_json();
  EXPECT_EQ(report()["plans"][0]["entries"], 30);
  EXPECT_EQ(last_misses(), 0u);
}

TEST_F(SessionTest, EarlyOptimizerStepsAreExpectedToMakeStateBetweenEmptyCaches) {
  start();
  EXPECT_FALSE(session->expects_lasting());
  for (int i = 0; i < 4; ++i) {
    session->on_optimizer_begin();
    EXPECT_EQ(session->expects_lasting(), i < 2);
    EXPECT_EQ(port.parts, i < 2 ? 2 * i + 1 : 4);
    job->iterate(3 + i);
    EXPECT_FALSE(session->expects_lasting());
    EXPECT_EQ(port.parts, i < 2 ? 2 * i + 2 : 4);
  }
}

TEST_F(SessionTest, StopLeavesLiveAddressesValid) {
  start();
  reach_plan();
  void* live = job->allocate(1000);
  ASSERT_TRUE(session->owns(live));
  session->stop();
  EXPECT_TRUE(session->owns(live));
  static_cast<char*>(live)[999] = 1;
  EXPECT_EQ(session->size_of(live), Bytes(1024));
  void* later = job->allocate(2000);
  EXPECT_FALSE(session->owns(later));
  job->free(later);
  job->free(live);
  session->on_mark(MarkSource::kOptimizer);
  EXPECT_EQ(session->arena_bytes(), Bytes(0));
}

TEST_F(SessionTest, AForkedChildIsOffAndItsArenaReadable) {
  start();
  reach_plan();
  auto* live = static_cast<char*>(job->allocate(1000));
  live[0] = 42;
  const pid_t child = fork();
  if (child == 0) {
    const bool well = session->state() == SessionState::kOff && live[0] == 42 && session->free(live) &&
                      session->try_allocate(Bytes(2000), StreamId(0)) == nullptr;
    session->on_mark(MarkSource::kOptimizer);
    session->stop();
    _exit(well ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  job->free(live);
}

TEST_F(SessionTest, ManyThreadsMayAllocateWhileStatesChange) {
  Settings settings = patient();
  settings.diverged_iterations = 2;
  start(settings);
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      while (!done.load()) {
        void* address = job->allocate(512u * static_cast<unsigned>(t + 1), static_cast<std::uint32_t>(t % 2));
        static_cast<char*>(address)[0] = 1;
        if (t == 2) session->record_stream(address, StreamId(3));
        job->free(address);
        port.pass_fences();
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    job->iterate();
    EXPECT_FALSE(session->report_json().empty());
  }
  done.store(true);
  for (std::thread& thread : threads) thread.join();
  session->stop();
  port.pass_fences();
  session->on_mark(MarkSource::kOptimizer);
  EXPECT_EQ(session->arena_live_bytes(), Bytes(0));
}

}  // namespace
}  // namespace stowage::session
