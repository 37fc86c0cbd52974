// The plan cache in a session: a second run of a job is planned after one iteration; a bad file is one
// warning and stays as it is.
#include "session/plans/plan_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/session/fake_port.h"

namespace stowage::session {
namespace {

namespace fs = std::filesystem;

/// What comes before the first mark is no whole iteration; two that agree; one whose ops are recorded.
constexpr int kUncached = 4;

struct PlanCacheTest : testing::Test {
  PlanCacheTest() : folder(fs::temp_directory_path() / ("stowage-cache-" + std::to_string(getpid()))) {
    fs::remove_all(folder);
  }
  ~PlanCacheTest() override { fs::remove_all(folder); }

  /// Iterations that a fresh session needs until it is planned; 0: it never was within 6.
  int run() {
    Settings settings;
    settings.plan_wait_ms = 60'000;
    settings.plan_cache = folder.string();
    FakePort port;
    Session session(port, no_torch(), settings);
    FakeJob job(port, session);
    void* parameter = job.allocate(5000);
    int planned = 0;
    for (int i = 1; i <= 6; ++i) {
      job.iterate();
      if (planned == 0 && session.state() == SessionState::kPlanned) planned = i;
    }
    job.free(parameter);
    return planned;
  }
  [[nodiscard]] fs::path only_file() const {
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
    return fs::directory_iterator(folder)->path();
  }

  fs::path folder;
};

TEST_F(PlanCacheTest, TheNextRunNeedsOneWholeIteration) {
  EXPECT_EQ(run(), kUncached);
  EXPECT_EQ(only_file().extension(), ".stowplan");
  EXPECT_EQ(run(), 2);
}

TEST_F(PlanCacheTest, ADamagedFileIsOneWarningThatNamesItAndIsLeftAsItIs) {
  run();
  const fs::path file = only_file();
  fs::resize_file(file, fs::file_size(file) / 2);
  const auto damaged = fs::file_size(file);
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(), kUncached);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find(file.filename().string()), std::string::npos) << said;
  EXPECT_EQ(fs::file_size(file), damaged);
}

TEST_F(PlanCacheTest, AFolderThatCannotBeMadeIsOneWarning) {
  std::ofstream(folder.string()) << "a file";
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(), kUncached);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

}  // namespace
}  // namespace stowage::session
