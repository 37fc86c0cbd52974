// Saving and loading where the operating system does not play along.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "core/format/plan_file.h"
#include "core/format/trace_file.h"
#include "tests/core/random_trace.h"

namespace stowage {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test, removed afterwards.
class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "stowage-core-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST_F(Files, WhatIsSavedIsLoaded) {
  const Trace trace = testing::random_trace(1);
  const Plan plan = testing::random_plan(1);
  ASSERT_TRUE(save_trace(trace, folder_ / "a.stowtrace").ok());
  ASSERT_TRUE(save_plan(plan, folder_ / "a.stowplan").ok());
  EXPECT_TRUE(*load_trace(folder_ / "a.stowtrace") == trace);
  EXPECT_TRUE(*load_plan(folder_ / "a.stowplan") == plan);
  EXPECT_EQ(entries(), 2u);
}

TEST_F(Files, SavingReplacesWhatWasThere) {
  ASSERT_TRUE(save_plan(testing::random_plan(1, 1000), folder_ / "p").ok());
  ASSERT_TRUE(save_plan(testing::random_plan(2, 10), folder_ / "p").ok());
  EXPECT_TRUE(*load_plan(folder_ / "p") == testing::random_plan(2, 10));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, ARelativePathIsInTheWorkingFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const Status saved = save_plan(testing::random_plan(1), "plain");
  fs::current_path(before);
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  EXPECT_TRUE(load_plan(folder_ / "plain").ok());
}

TEST_F(Files, ANameOfTheGreatestLengthIsSaved) {
  EXPECT_TRUE(save_plan(testing::random_plan(1), folder_ / std::string(255, 'n')).ok());
  EXPECT_EQ(save_plan(testing::random_plan(1), folder_ / std::string(256, 'n')).error().code, ErrorCode::kIo);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, AFolderThatIsNotThereIsAnIoError) {
  const Status saved = save_trace(Trace(), folder_ / "no" / "a.stowtrace");
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, ErrorCode::kIo);
  EXPECT_NE(saved.error().message.find("a.stowtrace"), std::string::npos) << saved.error().message;
}

TEST_F(Files, AFolderThatCannotBeWrittenIsAnIoError) {
  // A file in the place of the folder refuses everyone; permission bits would not stop root.
  write_text(folder_ / "file", "x");
  EXPECT_EQ(save_trace(Trace(), folder_ / "file" / "a").error().code, ErrorCode::kIo);
  EXPECT_EQ(save_trace(Trace(), "/proc/stowage.stowtrace").error().code, ErrorCode::kIo);
}

TEST_F(Files, AFolderInPlaceOfTheFileIsAnIoError) {
  fs::create_directory(folder_ / "d");
  EXPECT_EQ(save_trace(Trace(), folder_ / "d").error().code, ErrorCode::kIo);
  EXPECT_EQ(load_trace(folder_ / "d").error().code, ErrorCode::kIo);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, DevicesAndPipesAreRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(load_plan(folder_ / "pipe").error().code, ErrorCode::kIo);
  EXPECT_EQ(save_plan(Plan(), folder_ / "pipe").error().code, ErrorCode::kIo);
  EXPECT_EQ(load_plan("/dev/zero").error().code, ErrorCode::kIo);
  EXPECT_EQ(save_plan(Plan(), "/dev/full").error().code, ErrorCode::kIo);
}

TEST_F(Files, WhatIsNotThereIsNotFound) {
  const auto loaded = load_trace(folder_ / "gone.stowtrace");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kNotFound);
  EXPECT_NE(loaded.error().message.find("gone.stowtrace"), std::string::npos);
}

TEST_F(Files, ALoopOfLinksIsAnIoError) {
  fs::create_symlink(folder_ / "b", folder_ / "a");
  fs::create_symlink(folder_ / "a", folder_ / "b");
  EXPECT_EQ(load_plan(folder_ / "a").error().code, ErrorCode::kIo);
}

/// Lets no file grow beyond `bytes` while it lives: what a full disk does, without one.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    previous_action_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &previous_);
    const rlimit limit{bytes, previous_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &previous_);
    ::signal(SIGXFSZ, previous_action_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit previous_ = {};
  void (*previous_action_)(int) = nullptr;
};

TEST_F(Files, ADiskThatFillsUpLeavesTheOldFileAsItWas) {
  const Plan old = testing::random_plan(1, 10);
  ASSERT_TRUE(save_plan(old, folder_ / "p").ok());
  Status saved;
  {
    const FileSizeLimit limit(100);
    saved = save_plan(testing::random_plan(2, 5000), folder_ / "p");
  }
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, ErrorCode::kIo);
  EXPECT_TRUE(*load_plan(folder_ / "p") == old);
  EXPECT_EQ(entries(), 1u) << "a partial file was left";
}

TEST_F(Files, AnInvalidObjectLeavesTheOldFileAsItWas) {
  ASSERT_TRUE(save_trace(testing::random_trace(1), folder_ / "t").ok());
  Trace invalid;
  invalid.end = kNever;
  EXPECT_EQ(save_trace(invalid, folder_ / "t").error().code, ErrorCode::kUnplannable);
  EXPECT_TRUE(*load_trace(folder_ / "t") == testing::random_trace(1));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, ForeignFilesAreCalledForeign) {
  write_text(folder_ / "text", "import torch\n");
  write_text(folder_ / "png", "\x89PNG\r\n\x1a\n and so on and so forth");
  EXPECT_EQ(load_trace(folder_ / "text").error().code, ErrorCode::kForeignFile);
  EXPECT_EQ(load_plan(folder_ / "png").error().code, ErrorCode::kForeignFile);
}

TEST_F(Files, APlanIsNoTrace) {
  ASSERT_TRUE(save_plan(testing::random_plan(1), folder_ / "p").ok());
  const auto loaded = load_trace(folder_ / "p");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kForeignFile);
  EXPECT_NE(loaded.error().message.find("is a plan where a trace is needed"), std::string::npos);
}

TEST_F(Files, TheEmptyFileIsDamaged) {
  write_text(folder_ / "empty", "");
  EXPECT_EQ(load_trace(folder_ / "empty").error().code, ErrorCode::kDamagedFile);
}

TEST_F(Files, AHugeSparseFileIsRefusedUnread) {
  ASSERT_TRUE(save_plan(testing::random_plan(1), folder_ / "p").ok());
  fs::resize_file(folder_ / "p", std::uintmax_t{1} << 38);
  EXPECT_EQ(load_plan(folder_ / "p").error().code, ErrorCode::kDamagedFile);
}

TEST_F(Files, WritersOfOnePathLeaveOneWholeFile) {
  {
    std::vector<std::jthread> writers;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      writers.emplace_back([&, seed] {
        for (int i = 0; i < 20; ++i) EXPECT_TRUE(save_plan(testing::random_plan(seed), folder_ / "p").ok());
      });
    }
  }
  const auto plan = load_plan(folder_ / "p");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->technique, "random");
  EXPECT_EQ(entries(), 1u);
}

}  // namespace
}  // namespace stowage
