// The limit of the plan cache: what was not used for longest goes first, and nothing that is not ours.
#include "session/plans/cache_limit.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/kept_plans.h"

namespace stowage::session {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

struct CacheLimitTest : testing::Test {
  CacheLimitTest() {
    std::string pattern = (fs::temp_directory_path() / "stowage-limit-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
  }
  ~CacheLimitTest() override { fs::remove_all(root); }

  static std::string name(std::uint64_t number) { return kept_plans_name(PlanContext(), number); }
  void put(const std::string& file, std::size_t bytes, std::int64_t used_s) {
    std::ofstream(root / file) << std::string(bytes, 'x');
    const timespec times[] = {{used_s, 0}, {used_s, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (root / file).c_str(), times, 0), 0);
  }
  Names limit(std::uint64_t most_bytes, const std::string& newest = "") {
    limit_cache(format::PrivateFolder::open(root).value(), most_bytes, newest);
    Names left;
    for (const auto& entry : fs::directory_iterator(root)) left.insert(entry.path().filename().string());
    return left;
  }

  fs::path root;
};

TEST_F(CacheLimitTest, WhatWasNotUsedForLongestGoesFirst) {
  put(name(1), 100, 3000);
  put(name(2), 100, 1000);
  put(name(3), 100, 2000);
  EXPECT_EQ(limit(300), (Names{name(1), name(2), name(3)}));
  EXPECT_EQ(limit(250), (Names{name(1), name(3)}));
  EXPECT_EQ(limit(199), (Names{name(1)}));
  EXPECT_EQ(limit(0), Names());
}

TEST_F(CacheLimitTest, WhatWasJustWrittenStaysLongest) {
  put(name(1), 100, 3000);
  put(name(2), 100, 1000);  // by a clock that is late
  EXPECT_EQ(limit(100, name(2)), Names{name(2)});
}

TEST_F(CacheLimitTest, FilesThatAreNotOursAreNeitherCountedNorRemoved) {
  put("mine.stowplan", 1000, 1);
  put("job.stowtrace", 1000, 1);
  put(name(1), 100, 1000);
  fs::create_directory(root / name(2));
  EXPECT_EQ(limit(100), (Names{"mine.stowplan", "job.stowtrace", name(1), name(2)}));
  EXPECT_EQ(limit(0), (Names{"mine.stowplan", "job.stowtrace", name(2)}));
}

TEST_F(CacheLimitTest, WhatAWriterLeftLongAgoIsRemoved) {
  put(".stowage-1-2-3.partial", 1000, 1000);
  EXPECT_EQ(limit(0), Names());
}

}  // namespace
}  // namespace stowage::session
