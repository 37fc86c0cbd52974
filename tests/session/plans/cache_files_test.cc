// The files of the plan cache: for whom a kept plan is found, what is refused, and what is said about it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "core/format/plan_file.h"
#include "planner/planner.h"
#include "session/plans/plan_cache.h"
#include "session/settings/notice.h"
#include "tests/session/recording/recorded_iterations.h"

namespace stowage::session {
namespace {

namespace fs = std::filesystem;

struct CacheFilesTest : testing::Test, RecordedIterations {
  CacheFilesTest() {
    std::string pattern = (fs::temp_directory_path() / "stowage-files-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
    settings.plan_cache = (root / "plans").string();
    info = {{DeviceKind::kCpu, 0}, "a device", "2.11.0", "train.py", Bytes(1 << 30)};
    recording.start(true);
    for (int i = 0; i < 4; ++i) iterate({1000, 2000});
    trace = recording.recorder().snapshot();
    window = *last_window(trace, 1);
    plan = planner::make_plan(trace, {}).value();
  }
  ~CacheFilesTest() override {
    set_verbosity(0);
    fs::remove_all(root);
  }

  [[nodiscard]] bool is_found(const Settings& by, const TraceInfo& of) const {
    return PlanCache(by, of).find(trace, window).has_value();
  }
  [[nodiscard]] bool is_found() const { return is_found(settings, info); }
  /// What is said on stderr meanwhile.
  template <class Work>
  static std::string said(Work work) {
    testing::internal::CaptureStderr();
    work();
    return testing::internal::GetCapturedStderr();
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(root / "plans"), {}));
  }
  [[nodiscard]] fs::path only_file() const {
    EXPECT_EQ(files(), 1u);
    return fs::directory_iterator(root / "plans")->path();
  }
  static mode_t mode_of(const fs::path& path) {
    struct stat file = {};
    return ::stat(path.c_str(), &file) == 0 ? file.st_mode & 07777 : 0;
  }

  fs::path root;
  Trace trace;
  Window window;
  Plan plan;
  PlanCache cache{settings, info};
};

TEST_F(CacheFilesTest, AKeptPlanIsFoundUntilItIsForgotten) {
  EXPECT_FALSE(cache.may_find());
  cache.store({plan}, false);
  EXPECT_TRUE(cache.may_find());
  const std::optional<std::vector<Plan>> found = cache.find(trace, window);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front(), plan);
  cache.forget(plan);
  EXPECT_FALSE(is_found());
  EXPECT_FALSE(cache.may_find());
}

TEST_F(CacheFilesTest, FolderAndFileBelongToTheUserAlone) {
  const mode_t before = ::umask(0);
  cache.store({plan}, false);
  ::umask(before);
  EXPECT_EQ(mode_of(root / "plans"), 0700u);
  EXPECT_EQ(mode_of(only_file()), 0600u);
}

TEST_F(CacheFilesTest, AJobUnderAnyOtherConditionFindsNothing) {
  cache.store({plan}, false);
  const std::vector<std::function<void(Settings&, TraceInfo&)>> changes = {
      [](Settings&, TraceInfo& of) { of.device.kind = DeviceKind::kCuda; },
      [](Settings&, TraceInfo& of) { of.device_name = "another"; },
      [](Settings&, TraceInfo& of) { of.device_memory = Bytes(2 << 30); },
      [](Settings&, TraceInfo& of) { of.torch_version = "2.15.0"; },
      [](Settings& by, TraceInfo&) { by.budget = *Budget::parse("50%"); },
      [](Settings& by, TraceInfo&) { by.world_size = 2; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Settings by = settings;
    TraceInfo of = info;
    changes[i](by, of);
    EXPECT_FALSE(is_found(by, of)) << i;
    EXPECT_FALSE(PlanCache(by, of).may_find()) << i;
  }
  TraceInfo renamed = info;
  renamed.job = "another name";
  renamed.device.index = 3;
  EXPECT_TRUE(is_found(settings, renamed)) << "name and rank do not matter";
}

TEST_F(CacheFilesTest, TheBackendCountsOnCuda) {
  info.device.kind = plan.device = trace.info.device.kind = DeviceKind::kCuda;
  cache.store({plan}, false);
  EXPECT_TRUE(is_found());
  settings.arena = ArenaBackend::kMalloc;
  EXPECT_FALSE(is_found());
}

TEST_F(CacheFilesTest, AFileThatWasRenamedForAnotherJobIsNotUsed) {
  cache.store({plan}, false);
  const fs::path file = only_file();
  settings.world_size = 2;
  PlanCache other(settings, info);
  other.store({plan}, false);
  const std::string name = file.filename().string();
  for (const auto& entry : fs::directory_iterator(root / "plans"))
    if (entry.path().filename() != name)
      fs::copy_file(file, entry.path(), fs::copy_options::overwrite_existing);
  bool found = true;
  const std::string text = said([&] { found = is_found(); });
  EXPECT_FALSE(found);
  EXPECT_NE(text.find("made under other conditions"), std::string::npos) << text;
}

TEST_F(CacheFilesTest, APlanOfAnotherIterationUnderThisNameIsNotUsed) {
  const std::uint64_t fingerprint = plan.fingerprint;
  for (int i = 0; i < 4; ++i) iterate({1000, 3000});
  plan = planner::make_plan(recording.recorder().snapshot(), {}).value();
  plan.fingerprint = fingerprint;
  cache.store({plan}, false);
  bool found = true;
  const std::string text = said([&] { found = is_found(); });
  EXPECT_FALSE(found);
  EXPECT_NE(text.find("for another job"), std::string::npos) << text;
}

TEST_F(CacheFilesTest, WhatCannotBeReadIsOneWarningAndStaysAsItIs) {
  cache.store({plan}, false);
  const fs::path file = only_file();
  const auto size = fs::file_size(file);
  const std::vector<std::function<void()>> spoil = {
      [&] { fs::resize_file(file, size / 2); },
      [&] { fs::resize_file(file, 0); },
      [&] { std::ofstream(file) << "import torch\n"; },
      [&] { ASSERT_TRUE(save_plan(plan, file).ok()); },
  };
  for (std::size_t i = 0; i < spoil.size(); ++i) {
    spoil[i]();
    const auto spoiled = fs::file_size(file);
    PlanCache fresh(settings, info);
    const std::string text = said([&] {
      EXPECT_FALSE(fresh.find(trace, window)) << i;
      EXPECT_FALSE(fresh.find(trace, window)) << i;
      fresh.store({plan}, false);
    });
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << i << text;
    EXPECT_NE(text.find("warning: " + file.string()), std::string::npos) << i << text;
    EXPECT_EQ(fs::file_size(file), spoiled) << i;
  }
}

TEST_F(CacheFilesTest, AFolderOfTheUsersOwnChoiceIsWarnedOfOnce) {
  fs::create_directory(root / "plans");
  ASSERT_EQ(::chmod((root / "plans").c_str(), 0777), 0);
  const std::string text = said([&] {
    EXPECT_FALSE(cache.may_find());
    EXPECT_FALSE(cache.find(trace, window));
    cache.store({plan}, false);
    cache.forget(plan);
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_NE(text.find("warning: "), std::string::npos) << text;
  EXPECT_NE(text.find("others may write to it"), std::string::npos) << text;
  EXPECT_EQ(files(), 0u);
}

TEST_F(CacheFilesTest, TheStandardFolderIsANoteAtMost) {
  settings.users_plan_cache = settings.plan_cache;
  fs::create_directory_symlink(root, root / "plans");
  EXPECT_EQ(said([&] { cache.store({plan}, false); }), "");
  set_verbosity(1);
  PlanCache fresh(settings, info);
  const std::string text = said([&] {
    EXPECT_FALSE(fresh.may_find());
    fresh.store({plan}, false);
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_NE(text.find("symbolic link"), std::string::npos) << text;
}

TEST_F(CacheFilesTest, NoFolderIsNoCache) {
  settings.plan_cache.clear();
  EXPECT_EQ(said([&] {
              EXPECT_FALSE(cache.may_find());
              cache.store({plan}, false);
              EXPECT_FALSE(cache.find(trace, window));
              cache.forget(plan);
            }),
            "");
}

TEST_F(CacheFilesTest, AJobWhoseTraceIsWantedIsRecordedInFull) {
  cache.store({plan}, false);
  settings.trace = "job.stowtrace";
  EXPECT_FALSE(cache.may_find());
}

TEST_F(CacheFilesTest, UseCountsAsLastUse) {
  cache.store({plan}, false);
  const fs::path file = only_file();
  const auto long_ago = fs::last_write_time(file) - std::chrono::hours(24);
  fs::last_write_time(file, long_ago);
  EXPECT_TRUE(is_found());
  EXPECT_GT(fs::last_write_time(file), long_ago);
}

TEST_F(CacheFilesTest, APlanAboveTheLimitIsNotKept) {
  settings.plan_cache_bytes = 10;
  const std::string text = said([&] { cache.store({plan}, false); });
  EXPECT_NE(text.find("STOWAGE_PLAN_CACHE_BYTES"), std::string::npos) << text;
  EXPECT_EQ(files(), 0u);
}

TEST_F(CacheFilesTest, RanksThatKeepAndForgetAtOnceDoNotDisturbEachOther) {
  const auto work = [&] {
    PlanCache own(settings, info);
    bool good = true;
    for (int i = 0; i < 30; ++i) {
      own.store({plan}, false);
      const std::optional<std::vector<Plan>> found = own.find(trace, window);
      good = good && (!found || found->front() == plan);
      if (i % 3 == 2) own.forget(plan);
    }
    return good;
  };
  const std::string text = said([&] {
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(work() ? 0 : 1);
      children.push_back(child);
    }
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 3; ++i) threads.emplace_back([&] { EXPECT_TRUE(work()); });
    }
    for (const pid_t child : children) {
      int status = -1;
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
  });
  EXPECT_EQ(text, "");
  EXPECT_LE(files(), 1u) << "a partial file was left";
}

}  // namespace
}  // namespace stowage::session
