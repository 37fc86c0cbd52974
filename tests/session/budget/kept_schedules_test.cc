// A schedule from one run to the next: it is followed before an iteration is logged and checked on that log;
// what does not fit is left, and replaced.
#include "session/plans/kept_schedules.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "planner/schedule/check/validator.h"
#include "session/budget/schedule_controller.h"
#include "session/ports/heap_margin.h"
#include "session/settings/notice.h"
#include "tests/planner/schedule_logs.h"
#include "tests/session/fake_torch.h"

namespace stowage::session {
namespace {

namespace fs = std::filesystem;
using planner::schedule::chain;

Schedule without_actions(const StepLog& log) {
  Schedule schedule;
  schedule.shape_hashes = log.shape_hashes;
  return schedule;
}

Bytes limit_of(const StepLog& log) {
  const Schedule nothing = without_actions(log);
  const Bytes plenty(std::uint64_t{1} << 50u);
  return Bytes(planner::schedule::validate_schedule(log, nothing, plenty)->peak.value() * 7 / 10);
}

/// The logs of tests have no shapes of their own.
StepLog shaped(StepLog log, std::uint64_t shape) {
  for (std::uint64_t& one : log.shape_hashes) one = ++shape;
  return log;
}

constexpr std::uint64_t kReplays = 1000;  ///< by rescue, in an iteration

/// One run of a job, as far as its schedules are concerned.
struct JobRun {
  JobRun(const Settings& settings, const TraceInfo& info, const StepLog& log)
      : JobRun(settings, info, log, limit_of(log)) {}
  JobRun(const Settings& settings, const TraceInfo& info, const StepLog& log, Bytes at_most)
      : kept(settings, info), limit(at_most) {
    StepLog rescued = log;
    rescued.replayed.assign(kReplays, log.shape_hashes.front());
    torch.iteration.emplace(std::move(rescued));
  }
  void mark(bool limited = true) { budget.end_iteration(limit, ++marks, limited); }
  void rescued() {
    ++torch.counts.evictions;
    ++torch.counts.rooms;
    mark();
  }
  void followed() {
    ++torch.counts.evictions;
    ++torch.follow_counts.iterations;
    ++torch.follow_counts.evictions;
    mark();
  }
  void differing() {
    ++torch.follow_counts.left;
    mark();
  }
  /// What a run without kept schedules does: two iterations that evict, one that is logged, one more.
  void learn() {
    mark();
    for (int i = 0; i < 4; ++i) rescued();
    for (int i = 0; i < 3; ++i) followed();
  }
  [[nodiscard]] KeptScheduleFacts facts() const { return budget.facts().kept; }

  KeptSchedules kept;
  const Bytes limit;
  FakeTorch torch;
  std::uint64_t marks = 0;
  ScheduleController budget{torch, std::chrono::minutes(1), planner::schedule::BackgroundScheduler::make,
                            &kept};
};

struct KeptSchedulesTest : testing::Test {
  KeptSchedulesTest() {
    std::string pattern = (fs::temp_directory_path() / "stowage-schedules-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
    settings.plan_cache = (root / "plans").string();
    settings.budget = *Budget::parse("70%");
    settings.command = "python train.py";
    info = {{DeviceKind::kCpu, 0}, "a device", "2.11.0", "train.py", Bytes(1 << 30)};
  }
  ~KeptSchedulesTest() override {
    set_verbosity(0);
    fs::remove_all(root);
  }
  [[nodiscard]] std::unique_ptr<JobRun> run(const StepLog& of) const {
    return std::make_unique<JobRun>(settings, info, of);
  }
  void learn() const {
    const auto first = run(log);
    first->learn();
    ASSERT_TRUE(first->torch.follows) << first->budget.facts().reason;
    EXPECT_EQ(first->facts().made, 1u);
    EXPECT_EQ(first->budget.facts().evictions_before, 4u);
  }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    if (fs::exists(root / "plans"))
      for (const auto& entry : fs::directory_iterator(root / "plans")) found.push_back(entry.path());
    return found;
  }

  fs::path root;
  Settings settings;
  TraceInfo info;
  const StepLog log = shaped(chain(12, 64), 100);
};

TEST_F(KeptSchedulesTest, TheNextRunFollowsItFromTheFirstMarkUnderALimitAndMakesNone) {
  learn();
  EXPECT_EQ(files().size(), 2u) << "by its ops and by the job";
  const auto next = run(log);
  next->mark(false);
  EXPECT_FALSE(next->torch.follows) << "there is no limit yet";
  next->mark();
  EXPECT_TRUE(next->torch.follows && next->budget.follows());
  EXPECT_FALSE(next->budget.has_arena()) << "it is not checked yet";
  next->followed();
  EXPECT_FALSE(next->budget.is_steady());
  next->followed();
  next->followed();
  EXPECT_TRUE(next->budget.is_steady() && next->budget.has_arena());
  const ScheduleFacts facts = next->budget.facts();
  EXPECT_EQ(facts.since, 2u);
  EXPECT_EQ(facts.evictions_before, 0u);
  EXPECT_GT(facts.peak.value(), 0u);
  EXPECT_GT(facts.recomputed_ops, 0u);
  EXPECT_EQ(facts.kept.found, 1u);
  EXPECT_EQ(facts.kept.made + facts.kept.refused, 0u);
  EXPECT_EQ(next->torch.recordings, 1);
}

TEST_F(KeptSchedulesTest, AnotherCommandTakesItOnceAnIterationIsLogged) {
  learn();
  settings.command = "python train.py --lr 0.2";
  const auto next = run(log);
  next->learn();
  EXPECT_TRUE(next->torch.follows);
  EXPECT_EQ(next->facts().found, 1u);
  EXPECT_EQ(next->facts().made, 0u);
  EXPECT_EQ(files().size(), 3u) << "from now on this command finds it, too";
}

TEST_F(KeptSchedulesTest, UnderOtherConditionsItIsNotFound) {
  learn();
  settings.budget = *Budget::parse("60%");
  const auto next = run(log);
  next->learn();
  EXPECT_EQ(next->facts().found + next->facts().refused, 0u);
  EXPECT_EQ(next->facts().made, 1u);
}

TEST_F(KeptSchedulesTest, AJobThatBecameAnotherLeavesItAndGoesOnAsWithoutIt) {
  learn();
  const auto next = run(shaped(chain(14, 64), 500));
  next->mark();
  EXPECT_TRUE(next->torch.follows);
  next->differing();
  EXPECT_FALSE(next->torch.follows);
  for (int i = 0; i < 2; ++i) {
    next->mark();
    EXPECT_TRUE(next->torch.follows) << "an evaluation may have come first";
    next->differing();
  }
  EXPECT_EQ(files().size(), 1u) << "the next run does not begin with it";
  next->learn();
  EXPECT_TRUE(next->torch.follows);
  EXPECT_EQ(next->facts().made, 1u);
  EXPECT_EQ(files().size(), 3u);
  const auto after = run(shaped(chain(14, 64), 500));
  for (int i = 0; i < 4; ++i) i == 0 ? after->mark() : after->followed();
  EXPECT_EQ(after->facts().found, 1u);
}

TEST_F(KeptSchedulesTest, AnEvaluationAfterTheLoggedIterationDoesNotEndTheTrial) {
  learn();
  const auto next = run(log);
  next->mark();
  next->followed();
  next->differing();  // while it is checked
  EXPECT_TRUE(next->torch.follows);
  for (int i = 0; i < 2; ++i) next->followed();
  EXPECT_TRUE(next->budget.is_steady() && next->budget.has_arena());
  EXPECT_EQ(next->facts().found, 1u);
  EXPECT_EQ(next->facts().made + next->facts().refused, 0u);
}

TEST_F(KeptSchedulesTest, WhatDoesNotHoldTheLimitIsMadeAnewAndReplaced) {
  KeptSchedules(settings, info).keep(without_actions(log), 1);  // it evicts nothing
  const auto next = run(log);
  next->mark();
  EXPECT_TRUE(next->torch.follows);
  for (int i = 0; i < 5; ++i) next->followed();
  EXPECT_TRUE(next->torch.follows && next->budget.is_steady());
  EXPECT_EQ(next->facts().refused, 1u);
  EXPECT_EQ(next->facts().made, 1u);
  const auto after = run(log);
  for (int i = 0; i < 4; ++i) i == 0 ? after->mark() : after->followed();
  EXPECT_EQ(after->facts().found, 1u);
  EXPECT_EQ(after->facts().made, 0u);
}

// The heap rounds the same blocks differently in each run.
TEST_F(KeptSchedulesTest, WhatTakesSlightlyMoreInThisRunIsUsedUpToTheLimit) {
  learn();
  const auto first = run(log);
  for (int i = 0; i < 4; ++i) i == 0 ? first->mark() : first->followed();
  const Bytes limit(first->limit.value() / kGranule.value() * kGranule.value());
  const Bytes left = limit - first->budget.facts().peak;
  ASSERT_GT(left + kGranule, heap_margin(limit));
  for (const bool fits : {true, false}) {
    StepLog heavier = log;
    Buffer& before = heavier.trace.buffers.front();
    ASSERT_TRUE(before.preexisting);
    before.bytes = before.rounded = before.rounded + left + (fits ? Bytes(0) : kGranule);
    JobRun next(settings, info, heavier, limit);
    for (int i = 0; i < 4; ++i) i == 0 ? next.mark() : next.followed();
    EXPECT_EQ(next.facts().found, fits ? 1u : 0u);
    EXPECT_EQ(next.facts().refused, fits ? 0u : 1u);
    EXPECT_EQ(next.budget.facts().peak == limit && next.budget.has_arena(), fits);
  }
}

TEST_F(KeptSchedulesTest, WhereAPlanWasMadeUnderWhatDoesNotHoldTheLimitBothAreLeft) {
  KeptSchedules(settings, info).keep(without_actions(log), 1);
  const auto next = run(log);
  next->mark();
  next->budget.hold(true);
  for (int i = 0; i < 2; ++i) next->followed();
  EXPECT_FALSE(next->torch.follows || next->budget.follows());
  for (int i = 0; i < 4; ++i) next->rescued();
  EXPECT_TRUE(next->torch.follows);
}

TEST_F(KeptSchedulesTest, AnIterationThatCannotBeLoggedEndsTheTrialAndAnotherOneFollows) {
  learn();
  const auto next = run(log);
  next->torch.iteration.emplace(Error{ErrorCode::kUnplannable, "an op ran across the end"});
  next->mark();
  next->followed();
  EXPECT_FALSE(next->torch.follows);
  next->torch.iteration.emplace(log);
  next->mark();
  for (int i = 0; i < 3; ++i) next->followed();
  EXPECT_EQ(next->facts().found, 1u);
}

TEST_F(KeptSchedulesTest, ADamagedFileIsOneWarningAndIsReplaced) {
  learn();
  for (const fs::path& file : files()) fs::resize_file(file, fs::file_size(file) / 2);
  testing::internal::CaptureStderr();
  const auto next = run(log);
  next->learn();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find(".stowschedule: "), std::string::npos) << said;
  EXPECT_EQ(next->facts().made, 1u);
  const auto after = run(log);
  for (int i = 0; i < 4; ++i) i == 0 ? after->mark() : after->followed();
  EXPECT_EQ(after->facts().found, 1u);
}

TEST_F(KeptSchedulesTest, RanksHaveFilesOfTheirOwnUnderTheJobsName) {
  settings.world_size = 2;
  for (const char* rank : {"rank0", "rank1"}) {
    settings.rank = rank;
    KeptSchedules ranks(settings, info);
    EXPECT_FALSE(ranks.of_last_run());
    ranks.keep(without_actions(log), 1);
    EXPECT_TRUE(ranks.of_last_run());
  }
  EXPECT_EQ(files().size(), 3u) << "and one by the ops that both do";
}

TEST_F(KeptSchedulesTest, WithoutAFolderOrWithATraceNothingIsFound) {
  learn();
  settings.trace = "job.stowtrace";
  EXPECT_FALSE(KeptSchedules(settings, info).of_last_run());
  settings.trace.clear();
  settings.plan_cache.clear();
  EXPECT_FALSE(KeptSchedules(settings, info).of_last_run());
}

}  // namespace
}  // namespace stowage::session
