// A second run under a budget: it follows the schedule that the first one kept, and makes none.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/planner/schedule_logs.h"
#include "tests/session/fake_port.h"
#include "tests/session/fake_torch.h"

namespace stowage::session {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kBudget = 1 << 20;

/// What a run did in twelve iterations, all of which evict something.
struct Outcome {
  json schedule;
  int followed_at = 0;  ///< iterations that had ended when a schedule was first followed; 0: never
  int followed = 0;     ///< schedules
};

struct KeptSchedulesTest : testing::Test {
  KeptSchedulesTest()
      : folder(fs::temp_directory_path() / ("stowage-schedules-" + std::to_string(getpid()))) {
    fs::remove_all(folder);
    settings.budget = *Budget::parse(std::to_string(kBudget));
    settings.record_ops = false;
    settings.plan_wait_ms = 60'000;
    settings.plan_cache = folder.string();
    settings.command = "train.py";
  }
  ~KeptSchedulesTest() override { fs::remove_all(folder); }

  /// `differs`: its ops are not those of a schedule that is followed in the first iterations.
  Outcome run(std::uint32_t layers = 10, int differs = 0) {
    FakePort port;
    port.counted = port.on_touch = true;
    FakeTorch torch;
    torch.iteration.emplace(planner::schedule::chain(layers, 4));
    Session session(port, torch, settings);
    Outcome found;
    for (int i = 1; i <= 12; ++i) {
      iterate(port, torch, session, i <= differs);
      if (torch.follows && found.followed_at == 0) found.followed_at = i;
    }
    found.schedule = json::parse(session.report_json())["budget"]["schedule"];
    found.followed = torch.followed;
    return found;
  }
  static void iterate(FakePort& port, FakeTorch& torch, Session& session, bool differs) {
    ++torch.counts.evictions;
    if (!torch.follows) {
      ++torch.counts.rooms;
    } else {
      ++(differs ? torch.follow_counts.left : torch.follow_counts.iterations);
    }
    std::vector<void*> live;
    for (int k = 0; k < 4; ++k) {
      live.push_back(session.try_allocate(Bytes(4096), StreamId(0)));
      if (live.back() != nullptr) continue;
      port.count.take(Bytes(4096));
      live.back() = port.allocate(Bytes(4096));
      session.on_upstream_alloc(live.back(), Bytes(4096), StreamId(0));
    }
    for (void* const one : live) {
      if (session.free(one)) continue;
      port.count.give(Bytes(4096));
      port.give_back(one);
    }
    session.on_mark(MarkSource::kOptimizer);
  }
  [[nodiscard]] std::vector<fs::path> schedules() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".stowschedule") found.push_back(entry.path());
    return found;
  }

  fs::path folder;
  Settings settings;
};

TEST_F(KeptSchedulesTest, TheSecondRunFollowsItFromItsFirstIterationOn) {
  const Outcome first = run();
  EXPECT_EQ(first.schedule["made"], 1);
  EXPECT_EQ(first.schedule["kept_found"], 0);
  EXPECT_EQ(schedules().size(), 2u) << "one is found by the job, one by its ops";
  const Outcome second = run();
  EXPECT_EQ(second.followed_at, 1);
  EXPECT_LT(second.followed_at, first.followed_at);
  EXPECT_EQ(second.schedule["made"], 0);
  EXPECT_EQ(second.schedule["kept_found"], 1) << "it was checked on this run's own log";
  EXPECT_EQ(second.schedule["kept_refused"], 0);
  EXPECT_TRUE(second.schedule["followed"]);
  EXPECT_LT(second.schedule["evictions_before"], first.schedule["evictions_before"]);
  EXPECT_EQ(second.schedule["recomputed_ops"], first.schedule["recomputed_ops"]);
}

TEST_F(KeptSchedulesTest, AnotherCommandFindsItByItsOps) {
  const Outcome first = run();
  settings.command = "train.py --epochs 3";
  const Outcome other = run();
  EXPECT_EQ(other.followed_at, first.followed_at) << "an iteration is logged first";
  EXPECT_EQ(other.schedule["kept_found"], 1);
  EXPECT_EQ(other.schedule["made"], 0);
  EXPECT_EQ(run().followed_at, 1);
}

TEST_F(KeptSchedulesTest, OneForOtherOpsIsLeftAndReplaced) {
  run();
  const Outcome changed = run(/*layers=*/14, /*differs=*/3);
  EXPECT_EQ(changed.schedule["made"], 1);
  EXPECT_TRUE(changed.schedule["followed"]);
  const Outcome after = run(/*layers=*/14);
  EXPECT_EQ(after.followed_at, 1);
  EXPECT_EQ(after.schedule["kept_found"], 1);
  EXPECT_EQ(after.schedule["made"], 0);
}

TEST_F(KeptSchedulesTest, AnIterationThatDiffersFirstIsNoReasonToGiveItUp) {
  run();
  const Outcome second = run(10, /*differs=*/2);
  EXPECT_EQ(second.schedule["kept_found"], 1);
  EXPECT_EQ(second.schedule["made"], 0);
}

TEST_F(KeptSchedulesTest, AnotherBudgetHasItsOwn) {
  run();
  settings.budget = *Budget::parse(std::to_string(kBudget + 4096));
  EXPECT_EQ(run().schedule["made"], 1);
}

TEST_F(KeptSchedulesTest, ADamagedFileIsOneWarningAndTheJobMakesItsOwn) {
  run();
  for (const fs::path& path : schedules()) fs::resize_file(path, fs::file_size(path) / 2);
  testing::internal::CaptureStderr();
  const Outcome second = run();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(second.schedule["made"], 1);
  EXPECT_TRUE(second.schedule["followed"]);
  EXPECT_NE(said.find(".stowschedule"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(KeptSchedulesTest, ATraceIsOfARunThatBeganAnew) {
  run();
  settings.trace = "/dev/null";
  EXPECT_EQ(run().schedule["made"], 1);
}

}  // namespace
}  // namespace stowage::session
