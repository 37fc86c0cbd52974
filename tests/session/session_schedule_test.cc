// A session under a followed schedule: its iterations are recorded and planned, the arena finds room beside
// what the last iteration left, and what does not follow the plan has room made for it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tests/planner/schedule_logs.h"
#include "tests/session/fake_port.h"
#include "tests/session/fake_torch.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kActivations = 6;
constexpr std::uint64_t kActivation = 4096;
constexpr std::uint64_t kGradient = 16384;
constexpr std::uint64_t kParameters = 8192;
constexpr std::uint64_t kHeight =
    kActivations * kActivation + kGradient;  // all are alive when the gradient is made

/// A training job that holds a gradient from one iteration into the next, within the budget or not at all.
/// Every iteration evicts something: as the schedule says, where one is followed.
class Job {
 public:
  Job(FakePort& port, FakeTorch& torch, Session& session) : port_(port), torch_(torch), session_(session) {
    take(kParameters);
  }

  void iterate(std::uint64_t extra = 0) {
    note_eviction();
    std::vector<void*> live;
    for (std::uint64_t i = 0; i < kActivations; ++i) live.push_back(take(kActivation));
    if (extra != 0) give(take(extra));
    if (gradient_ != nullptr) give(gradient_);
    gradient_ = take(kGradient);
    for (void* const one : live) give(one);
    session_.on_mark(MarkSource::kOptimizer);
    peak = std::max(peak, port_.count.peak_held().value());
  }
  /// An iteration whose ops are not those of the schedule.
  void differ(std::uint64_t bytes) {
    ++torch_.counts.evictions;
    ++torch_.counts.rooms;
    ++torch_.follow_counts.left;
    give(take(bytes));
    session_.on_mark(MarkSource::kOptimizer);
  }
  void* take(std::uint64_t bytes) {
    if (void* const planned = session_.try_allocate(Bytes(bytes), StreamId(0))) return planned;
    while (!port_.count.try_take(round_up(Bytes(bytes)))) {
      if (session_.make_room(round_up(Bytes(bytes)))) continue;
      ++refused;
      port_.count.take(round_up(Bytes(bytes)));
      break;
    }
    void* const address = port_.allocate(Bytes(bytes));
    sizes_[address] = round_up(Bytes(bytes));
    session_.on_upstream_alloc(address, Bytes(bytes), StreamId(0));
    return address;
  }
  void give(void* address) {
    if (session_.free(address)) return;
    port_.count.give(sizes_.at(address));
    port_.give_back(address);
  }

  int refused = 0;
  std::uint64_t peak = 0;

 private:
  void note_eviction() {
    ++torch_.counts.evictions;
    if (!torch_.follows) return void(++torch_.counts.rooms);
    ++torch_.follow_counts.evictions;
    ++torch_.follow_counts.iterations;
  }
  FakePort& port_;
  FakeTorch& torch_;
  Session& session_;
  std::map<void*, Bytes> sizes_;
  void* gradient_ = nullptr;
};

Settings settings_for(std::uint64_t budget) {
  Settings settings;
  settings.budget = *Budget::parse(std::to_string(budget));
  settings.record_ops = false;
  settings.plan_wait_ms = 60'000;
  settings.diverged_iterations = 3;
  return settings;
}

class SessionSchedule : public ::testing::Test {
 protected:
  SessionSchedule() {
    StepLog log = planner::schedule::chain(10, 4);
    log.replayed = log.shape_hashes;  // rescue runs all again: any schedule costs less
    torch_.iteration.emplace(std::move(log));
    port_.counted = port_.on_touch = true;
  }
  void start(std::uint64_t budget) {
    const Settings settings = settings_for(budget);
    session_ = std::make_unique<Session>(port_, torch_, settings);
    job_ = std::make_unique<Job>(port_, torch_, *session_);
  }
  bool reach(SessionState state, int most = 16) {
    for (int i = 0; i < most && session_->state() != state; ++i) job_->iterate();
    return session_->state() == state;
  }
  [[nodiscard]] nlohmann::json report() const { return nlohmann::json::parse(session_->report_json()); }

  FakePort port_;
  FakeTorch torch_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Job> job_;
};

constexpr std::uint64_t kRoomy = 1 << 20;
// What the job holds, and one page more for the arena's end: an arena beside the last gradient would not fit.
constexpr std::uint64_t kTight = kParameters + kHeight + 4096;

TEST_F(SessionSchedule, IsPlannedWithTheRuntimeInPlace) {
  start(kRoomy);
  ASSERT_TRUE(reach(SessionState::kPlanned));
  for (int i = 0; i < 20; ++i) job_->iterate();
  EXPECT_TRUE(torch_.installed && torch_.follows);
  EXPECT_EQ(torch_.followed, 1);
  const auto told = report();
  EXPECT_EQ(told["state"], "planned");
  EXPECT_EQ(told["clean_iterations"], 20);
  EXPECT_TRUE(told["budget"]["watching"]);
  EXPECT_TRUE(told["budget"]["schedule"]["followed"]);
  EXPECT_EQ(port_.count.held(), session_->arena_bytes() + Bytes(kParameters));
}

// A log says what tensors hold: in the arena as outside it.
TEST_F(SessionSchedule, WhatTheArenaServesIsCountedWhileAFurtherKindIsLogged) {
  start(kRoomy);
  ASSERT_TRUE(reach(SessionState::kPlanned));
  job_->iterate();
  for (int i = 0; i < 2; ++i) {
    for (int times = 0; times < 3; ++times) job_->iterate();
    job_->differ(4096);
  }
  for (int times = 0; times < 3; ++times) job_->iterate();
  EXPECT_EQ(port_.arena_uses, 0) << "nothing is logged yet";
  EXPECT_EQ(port_.count.in_arena(), Bytes(kGradient)) << "as of the last mark";
  job_->iterate();
  EXPECT_EQ(port_.arena_uses, 2 * static_cast<int>(kActivations + 1));
  EXPECT_EQ(port_.arena_use, 0) << "one gradient goes, another one stays";
  EXPECT_EQ(port_.count.in_tensors(), Bytes(kGradient) + port_.count.upstream());
  torch_.iteration.emplace(planner::schedule::chain(12, 4));
  for (std::uint64_t& shape : torch_.iteration->value().shape_hashes) ++shape;
  for (int i = 0; i < 2; ++i) job_->differ(4096);
  for (int i = 0; i < 5; ++i) job_->iterate();
  const int told = port_.arena_uses;
  for (int i = 0; i < 5; ++i) job_->iterate();
  EXPECT_EQ(port_.arena_uses, told) << "the further kind has its schedule";
  EXPECT_EQ(report()["budget"]["schedule"]["kinds"], 2);
  EXPECT_EQ(session_->state(), SessionState::kPlanned);
}

TEST(ScheduledPlans, ThatAnEarlierRunKeptAreFollowedWithTheRuntimeInPlaceToo) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("stowage-scheduled-" + std::to_string(getpid()));
  std::vector<int> planned_at;
  for (int run = 0; run < 2; ++run) {
    FakePort port;
    FakeTorch torch;
    port.counted = port.on_touch = true;
    torch.iteration.emplace(planner::schedule::chain(10, 4));
    Settings settings = settings_for(kTight);
    settings.plan_cache = folder.string();
    settings.record_ops = true;  // so that planning takes an iteration more
    Session session(port, torch, settings);
    Job job(port, torch, session);
    planned_at.push_back(0);
    while (session.state() != SessionState::kPlanned && ++planned_at.back() < 16) job.iterate();
    for (int i = 0; i < 20; ++i) job.iterate();
    EXPECT_EQ(session.state(), SessionState::kPlanned);
    EXPECT_TRUE(torch.installed && torch.follows) << "the job does not fit without it";
    EXPECT_EQ(job.refused, 0);
  }
  fs::remove_all(folder);
  EXPECT_LT(planned_at[1], planned_at[0]) << "the plan was found";
}

TEST_F(SessionSchedule, WhatLastsIsMovedTogetherOnceUnderIt) {
  port_.gathers = true;
  start(kTight);
  while (!torch_.follows) job_->iterate();
  EXPECT_EQ(torch_.gathered, 0) << "what the schedule offloads is not known yet";
  ASSERT_TRUE(reach(SessionState::kPlanned));
  for (int i = 0; i < 20; ++i) job_->iterate();
  EXPECT_EQ(torch_.gathered, 1);
}

struct UntilPlanned {
  int iterations = 0;  ///< 40: it was not
  int schedules = 0;
};
/// `lost` bytes between what lasts are given back once that is moved.
UntilPlanned run_until_planned(const std::filesystem::path& folder, std::uint64_t lost, bool gathers) {
  FakePort port;
  FakeTorch torch;
  port.counted = true;
  port.gathers = gathers;
  torch.iteration.emplace(planner::schedule::chain(10, 4));
  torch.on_gather = [&] { port.count.give(Bytes(std::exchange(lost, 0))); };
  Settings settings = settings_for(kTight + kGradient);  // the arena is taken at once
  settings.plan_cache = folder.string();
  settings.record_ops = true;  // so that planning takes an iteration more
  Session session(port, torch, settings);
  port.count.take(Bytes(lost));
  Job job(port, torch, session);
  UntilPlanned run;
  while (session.state() != SessionState::kPlanned && ++run.iterations < 40) job.iterate();
  run.schedules = torch.followed;
  return run;
}

TEST(LastingMemoryUnderASchedule, LeavesRoomForAnArenaThatDidNotFit) {
  constexpr std::uint64_t kLost = 8192;
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("stowage-lasting-" + std::to_string(getpid()));
  EXPECT_EQ(run_until_planned(folder, kLost, /*gathers=*/false).iterations, 40);
  fs::remove_all(folder);
  const UntilPlanned first = run_until_planned(folder, kLost, /*gathers=*/true);
  EXPECT_LT(first.iterations, 16);
  EXPECT_EQ(first.schedules, 1) << "none for less";
  const UntilPlanned second = run_until_planned(folder, kLost, /*gathers=*/true);
  EXPECT_LT(second.iterations, first.iterations) << "also a plan that an earlier run kept";
  EXPECT_EQ(second.schedules, 1);
  fs::remove_all(folder);
}

TEST_F(SessionSchedule, WhatRescueDoesBesideItKeepsNoPlanAway) {
  start(kRoomy);
  ASSERT_TRUE(reach(SessionState::kRecording) && torch_.followed == 0);
  for (int i = 0; i < 16; ++i) {
    if (torch_.follows) ++torch_.counts.evictions;
    job_->iterate();
  }
  EXPECT_EQ(torch_.followed, 1);
  EXPECT_EQ(session_->state(), SessionState::kPlanned);
}

TEST_F(SessionSchedule, AnArenaThatFitsOnlyOnceTheLastGradientsAreGoneIsCountedBitByBit) {
  start(kTight);
  ASSERT_TRUE(reach(SessionState::kPlanned));
  EXPECT_EQ(session_->arena_bytes(), Bytes(kHeight));
  EXPECT_EQ(port_.count.held(), Bytes(kParameters + kGradient)) << "nothing of the arena was used yet";
  job_->iterate();
  EXPECT_EQ(port_.count.held(), Bytes(kParameters + kHeight));
  for (int i = 0; i < 20; ++i) job_->iterate();
  EXPECT_EQ(report()["clean_iterations"], 21);
  EXPECT_EQ(job_->refused, 0);
  EXPECT_LE(job_->peak, kTight);
}

TEST_F(SessionSchedule, WhereADeviceTakesTheArenaAtOnceASmallerOneIsPlannedForOrNone) {
  port_.on_touch = false;
  start(kTight);
  EXPECT_FALSE(reach(SessionState::kPlanned, 60));
  EXPECT_EQ(session_->state(), SessionState::kRescuing);
  EXPECT_EQ(port_.maps, 0);
  EXPECT_GT(torch_.followed, 1) << "others for less";
  EXPECT_TRUE(torch_.follows);
  EXPECT_NE(report()["reason"].get<std::string>().find("does not fit"), std::string::npos);
  EXPECT_EQ(job_->refused, 0);
}

TEST_F(SessionSchedule, AnArenaThatNeverHasRoomIsLeftAndTheScheduleGoesOn) {
  start(kTight);
  ASSERT_TRUE(reach(SessionState::kPlanned));
  port_.count.take(Bytes(8192));  // somebody's, for good
  for (int i = 0; i < 3; ++i) job_->iterate();
  EXPECT_EQ(session_->state(), SessionState::kRescuing);
  EXPECT_EQ(report()["reason"], "");
  EXPECT_TRUE(torch_.follows);
  for (int i = 0; i < 60; ++i) job_->iterate();
  EXPECT_EQ(session_->state(), SessionState::kRescuing);
  EXPECT_NE(report()["reason"].get<std::string>().find("does not fit"), std::string::npos);
  EXPECT_EQ(session_->arena_bytes(), Bytes(0));
}

TEST_F(SessionSchedule, ARequestOffThePlanHasRoomMadeInTheArenaAndThePlanGoesOn) {
  start(kTight);
  ASSERT_TRUE(reach(SessionState::kPlanned));
  for (int i = 0; i < 3; ++i) job_->iterate();
  ASSERT_EQ(port_.count.held(), Bytes(kParameters + kHeight));
  void* const odd = job_->take(10'000);
  EXPECT_EQ(torch_.rooms_asked, 0) << "what nobody uses of the arena goes first";
  EXPECT_LE(port_.count.held().value(), kTight);
  job_->give(odd);
  for (int i = 0; i < 5; ++i) job_->iterate();
  EXPECT_EQ(session_->state(), SessionState::kPlanned);
  EXPECT_EQ(report()["last_iteration_misses"], 0);
  EXPECT_EQ(port_.count.held(), Bytes(kParameters + kHeight));
  EXPECT_EQ(job_->refused, 0);
}

TEST_F(SessionSchedule, AJobThatBecomesAnotherLeavesBothAndIsPlannedAgain) {
  start(kRoomy);
  ASSERT_TRUE(reach(SessionState::kPlanned));
  for (int i = 0; i < 3; ++i) job_->iterate();
  std::uint64_t bytes = 100'000;
  while (session_->state() == SessionState::kPlanned) job_->differ(bytes += 1000);
  EXPECT_FALSE(torch_.follows);
  EXPECT_EQ(report()["replans"], 1);
  ASSERT_TRUE(reach(SessionState::kPlanned, 30));
  EXPECT_EQ(torch_.followed, 2);
  for (int i = 0; i < 5; ++i) job_->iterate();
  EXPECT_EQ(report()["last_iteration_misses"], 0);
}

}  // namespace
}  // namespace stowage::session
