// The second run of a job is planned from its first allocation on, what lasts included; one that begins
// otherwise is recorded as if no run had been before.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/session/training_job.h"

namespace stowage::session {
namespace {

namespace fs = std::filesystem;
using Shape = TrainingJob::Shape;

struct SessionOpening : testing::Test {
  SessionOpening() : folder(fs::temp_directory_path() / ("stowage-opening-" + std::to_string(getpid()))) {
    fs::remove_all(folder);
    settings.plan_wait_ms = 60'000;
    settings.plan_cache = folder.string();
    settings.command = "train.py";
  }
  ~SessionOpening() override { fs::remove_all(folder); }

  struct Run {
    nlohmann::json report;
    SessionState first = SessionState::kOff;  ///< after the first iteration
    int requests = 0;
    bool lasting_in_arena = false;  ///< all parameters and all of the optimizer's state
    std::uint64_t reserved = 0;     ///< most that arena and upstream held together at an iteration's end
  };
  Run run(const Shape& shape = {}, int iterations = 12) {
    Run done;
    FakePort port;
    port.caches = true;
    port.on_touch = true;
    Session session(port, no_torch(), settings);
    {
      TrainingJob job(port, session, shape);
      job.run(1);
      done.first = session.state();
      for (int i = 1; i < iterations; ++i) {
        job.run(1);
        done.reserved =
            std::max(done.reserved, session.arena_bytes().value() + port.upstream_use().reserved.value());
      }
      done.report = nlohmann::json::parse(session.report_json());
      done.requests = job.requests();
      const auto planned = [&](void* block) { return session.owns(block); };
      done.lasting_in_arena = std::all_of(job.parameters().begin(), job.parameters().end(), planned) &&
                              std::all_of(job.state().begin(), job.state().end(), planned);
      EXPECT_FALSE(job.overlapped());
    }
    session.stop_and_wait();
    return done;
  }
  [[nodiscard]] std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder), {}); }

  Settings settings;
  fs::path folder;
};

TEST_F(SessionOpening, TheNextRunIsServedFromItsFirstAllocationOn) {
  const Run first = run();
  EXPECT_EQ(first.first, SessionState::kRecording);
  EXPECT_EQ(first.report["planned_from_start"], false);
  EXPECT_FALSE(first.lasting_in_arena);
  EXPECT_EQ(files(), 2) << "one is found by an iteration, one by the command";
  const Run second = run();
  EXPECT_EQ(second.first, SessionState::kPlanned);
  EXPECT_EQ(second.report["planned_from_start"], true) << second.report;
  EXPECT_EQ(second.report["hits"], second.requests) << second.report;
  EXPECT_EQ(second.report["clean_iterations"], 12);
  EXPECT_TRUE(second.lasting_in_arena);
  EXPECT_LE(second.reserved, first.reserved);
  EXPECT_EQ(run().report["hits"], second.requests) << "and so is each that follows";
}

TEST_F(SessionOpening, AJobThatBeginsOtherwiseIsRecordedAsIfThereHadBeenNoPlan) {
  run();
  Shape other;
  other.width = 4096 + 512;
  const Run changed = run(other);
  EXPECT_EQ(changed.report["planned_from_start"], false);
  EXPECT_EQ(changed.report["state"], "planned");
  EXPECT_EQ(changed.report["replans"], 0);
  EXPECT_TRUE(run(other).lasting_in_arena) << "its own plans replaced those that did not fit";
  fs::remove_all(folder);
  EXPECT_EQ(changed.report["switched_at_iteration"], run(other).report["switched_at_iteration"]);
}

TEST_F(SessionOpening, AJobThatFreesLaterThanTheRunBeforeStaysWithItsPlans) {
  run();
  Shape late;
  late.frees_late = true;
  settings.miss_tolerance = 0.1;
  const Run second = run(late);
  EXPECT_EQ(second.report["planned_from_start"], true) << second.report;
  EXPECT_GT(second.report["displaced"], 0);
  EXPECT_EQ(run(late).report["displaced"], 0) << "it made others for the next run";
}

TEST_F(SessionOpening, KindsThatComeLaterAreInTheNextRunsPlans) {
  Shape shape;
  shape.evaluates = true;
  const Run first = run(shape, 40);
  const Run second = run(shape, 40);
  EXPECT_EQ(second.report["hits"], second.requests) << first.report << second.report;
  EXPECT_EQ(second.report["plans"].size(), 2u);
}

TEST_F(SessionOpening, AKindThatARunHasNoPlanForIsInThePlansOfTheNextOne) {
  run();
  Shape shape;
  shape.evaluates = true;
  const Run second = run(shape, 40);
  EXPECT_EQ(second.report["planned_from_start"], true);
  EXPECT_EQ(second.report["plans"].size(), 2u) << "the beginning is none of them: " << second.report;
  const Run third = run(shape, 40);
  EXPECT_EQ(third.report["hits"], third.requests) << third.report;
}

TEST_F(SessionOpening, AShortRunKeepsItsPlansAtItsEnd) {
  run({}, 5);
  EXPECT_EQ(run({}, 2).report["planned_from_start"], true);
}

TEST_F(SessionOpening, WithoutACommandABudgetOrAFolderNothingIsKeptForIt) {
  settings.command = "";
  run();
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(run().report["planned_from_start"], false);
  settings.command = "train.py";
  settings.budget = *Budget::parse("100%");
  run();
  EXPECT_EQ(run().report["planned_from_start"], false);
}

TEST_F(SessionOpening, ADamagedFileIsOneWarningAndTheJobIsRecorded) {
  run();
  for (const fs::directory_entry& file : fs::directory_iterator(folder))
    fs::resize_file(file, fs::file_size(file) / 2);
  testing::internal::CaptureStderr();
  const Run second = run();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_EQ(second.report["planned_from_start"], false);
  EXPECT_EQ(second.report["state"], "planned");
}

TEST_F(SessionOpening, ACommandThatIsNewFindsItsPlansByAnIterationAndKeepsThoseOfItsBeginning) {
  run();
  settings.command = "train.py --epochs 3";
  EXPECT_EQ(run().report["planned_from_start"], false);
  const Run second = run();
  EXPECT_EQ(second.report["planned_from_start"], true);
  EXPECT_EQ(second.report["hits"], second.requests) << second.report;
}

TEST_F(SessionOpening, RanksThatDifferHavePlansOfTheirOwn) {
  settings.world_size = 2;
  const Shape shapes[] = {{12}, {17}};
  const char* const ranks[] = {"rank0", "rank1"};
  for (int round = 0; round < 4; ++round) {
    for (int rank = 0; rank < 2; ++rank) {
      settings.rank = ranks[rank];
      EXPECT_EQ(run(shapes[rank]).report["planned_from_start"], round > 0) << round << " " << rank;
    }
  }
  EXPECT_EQ(files(), 4);
}

}  // namespace
}  // namespace stowage::session
