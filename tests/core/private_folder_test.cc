// A private folder: made for the user alone, refused where others may write or a link stands in its place.
#include "core/format/private_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "core/format/plan_file.h"
#include "tests/core/random_trace.h"

namespace stowage::format {
namespace {

namespace fs = std::filesystem;

struct PrivateFolderTest : ::testing::Test {
  PrivateFolderTest() {
    std::string pattern = (fs::temp_directory_path() / "stowage-private-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
  }
  ~PrivateFolderTest() override { fs::remove_all(root); }

  static mode_t mode_of(const fs::path& path) {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  static std::vector<std::byte> plan_bytes(std::uint64_t seed) {
    return encode_plan(stowage::testing::random_plan(seed)).value();
  }
  void expect_refused(const fs::path& path, const char* why) {
    for (const auto& opened :
         {PrivateFolder::open(path).ok() ? Status() : Status(PrivateFolder::open(path).error()),
          PrivateFolder::make(path).ok() ? Status() : Status(PrivateFolder::make(path).error())}) {
      ASSERT_FALSE(opened.ok());
      EXPECT_EQ(opened.error().code, ErrorCode::kIo);
      EXPECT_NE(opened.error().message.find(why), std::string::npos) << opened.error().message;
    }
  }

  fs::path root;
};

TEST_F(PrivateFolderTest, IsMadeForTheUserAloneWithAllAboveIt) {
  const mode_t before = ::umask(0);
  const auto folder = PrivateFolder::make(root / "a" / "b" / "");
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_TRUE(folder->write("p", plan_bytes(1)).ok());
  ::umask(before);
  EXPECT_EQ(mode_of(root / "a"), 0700u);
  EXPECT_EQ(mode_of(root / "a" / "b"), 0700u);
  EXPECT_EQ(mode_of(root / "a" / "b" / "p"), 0600u);
}

TEST_F(PrivateFolderTest, OpeningMakesNothing) {
  const auto folder = PrivateFolder::open(root / "a");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(root / "a"));
}

TEST_F(PrivateFolderTest, IsRefusedWhereOthersMayWrite) {
  fs::create_directory(root / "shared");
  for (const mode_t mode : {0777, 0770, 0702, 01777}) {
    ASSERT_EQ(::chmod((root / "shared").c_str(), mode), 0);
    expect_refused(root / "shared", "others may write to it");
  }
  ASSERT_EQ(::chmod((root / "shared").c_str(), 0755), 0);
  EXPECT_TRUE(PrivateFolder::open(root / "shared").ok());
}

TEST_F(PrivateFolderTest, IsRefusedWhereItBelongsToAnotherUser) {
  // Root gives a folder away; anybody else finds one of root's.
  fs::path other = "/usr";
  if (::geteuid() == 0) {
    other = root / "other";
    fs::create_directory(other);
    if (::chown(other.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "this root may not give files away";
  }
  expect_refused(other, "belongs to another user");
}

TEST_F(PrivateFolderTest, IsRefusedWhereALinkOrAFileStandsInItsPlace) {
  fs::create_directory(root / "real");
  fs::create_directory_symlink(root / "real", root / "link");
  expect_refused(root / "link", "symbolic link");
  expect_refused(root / "link" / "", "symbolic link");
  fs::create_symlink(root / "nowhere", root / "dangling");
  expect_refused(root / "dangling", "symbolic link");
  std::ofstream(root / "file") << "x";
  expect_refused(root / "file", "is not used");
  expect_refused(root / "file" / "below", "is not used");
}

TEST_F(PrivateFolderTest, LinksInItAreNeitherReadNorWrittenThrough) {
  const auto folder = PrivateFolder::make(root / "f");
  ASSERT_TRUE(folder.ok());
  std::ofstream(root / "victim") << "mine";
  ASSERT_TRUE(save_plan(stowage::testing::random_plan(1), root / "plan").ok());
  fs::create_symlink(root / "plan", root / "f" / "p");
  EXPECT_EQ(folder->read("p", Kind::kPlan).error().code, ErrorCode::kIo);
  EXPECT_TRUE(folder->files().empty());
  fs::create_symlink(root / "victim", root / "f" / "q");
  EXPECT_TRUE(folder->write("q", plan_bytes(1)).ok());
  EXPECT_FALSE(fs::is_symlink(root / "f" / "q"));
  EXPECT_EQ(fs::file_size(root / "victim"), 4u);
}

TEST_F(PrivateFolderTest, FilesAreListedReadTouchedAndRemoved) {
  const auto folder = PrivateFolder::make(root / "f");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(folder->write("p", plan_bytes(1)).ok());
  fs::create_directory(root / "f" / "inner");
  const timespec long_ago[] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (root / "f" / "p").c_str(), long_ago, 0), 0);
  ASSERT_EQ(folder->files().size(), 1u);
  EXPECT_EQ(folder->files()[0].bytes, plan_bytes(1).size());
  EXPECT_EQ(folder->files()[0].used_ns, 1'000'000'000'000);
  folder->touch("p");
  EXPECT_GT(folder->files()[0].used_ns, 1'000'000'000'000);
  EXPECT_EQ(*folder->read("p", Kind::kPlan), plan_bytes(1));
  EXPECT_TRUE(folder->has("p"));
  EXPECT_TRUE(folder->remove("p"));
  EXPECT_FALSE(folder->remove("p"));
  EXPECT_FALSE(folder->has("p"));
  EXPECT_EQ(folder->read("p", Kind::kPlan).error().code, ErrorCode::kNotFound);
}

TEST_F(PrivateFolderTest, OnlyOldPartialFilesAreStale) {
  const auto folder = PrivateFolder::make(root / "f");
  ASSERT_TRUE(folder.ok());
  const timespec long_ago[] = {{1000, 0}, {1000, 0}};
  for (const char* name : {".stowage-1-2-3.partial", "p.stowplan", ".other.partial"}) {
    std::ofstream(root / "f" / name) << "x";
    ASSERT_EQ(::utimensat(AT_FDCWD, (root / "f" / name).c_str(), long_ago, 0), 0);
  }
  std::ofstream(root / "f" / ".stowage-4-5-6.partial") << "x";
  folder->remove_stale();
  EXPECT_FALSE(folder->has(".stowage-1-2-3.partial"));
  EXPECT_TRUE(folder->has(".stowage-4-5-6.partial") && folder->has("p.stowplan") &&
              folder->has(".other.partial"));
}

TEST_F(PrivateFolderTest, WritersInProcessesAndThreadsLeaveWholeFilesOnly) {
  const auto folder = PrivateFolder::make(root / "f");
  ASSERT_TRUE(folder.ok());
  const auto write_all = [&](std::uint64_t seed) {
    bool good = true;
    for (int i = 0; i < 20; ++i)
      good = folder->write("p" + std::to_string(i % 3), plan_bytes(seed)).ok() && good;
    return good;
  };
  std::vector<pid_t> children;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(write_all(seed) ? 0 : 1);
    children.push_back(child);
  }
  {
    std::vector<std::jthread> writers;
    for (std::uint64_t seed = 3; seed < 6; ++seed)
      writers.emplace_back([&, seed] { EXPECT_TRUE(write_all(seed)); });
    for (int i = 0; i < 50; ++i) {
      const auto read = folder->read("p1", Kind::kPlan);
      EXPECT_TRUE(!read.ok() || decode_plan(*read).ok());
    }
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(folder->files().size(), 3u) << "a partial file was left";
  for (const auto& file : folder->files())
    EXPECT_TRUE(decode_plan(*folder->read(file.name, Kind::kPlan)).ok());
}

}  // namespace
}  // namespace stowage::format
