// Spilled bytes come back, and where the disk fails nothing is lost: each system call is made to fail in
// turn.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "recompute/stores/spill_store.h"

namespace stowage::recompute {
namespace {

namespace fs = std::filesystem;

using Content = std::vector<std::uint64_t>;

Content content_of(std::size_t words, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Content content(words);
  for (std::uint64_t& word : content) word = random();
  return content;
}

std::uint64_t bytes_of(const Content& content) { return content.size() * sizeof(content[0]); }

// What the next calls do; set by a test. 0: as the system does.
struct Faults {
  int write = 0, read = 0, allocate = 0;
  std::size_t most = 0;  ///< bytes moved by one call
  bool flip = false;     ///< a bit of what is read
};
Faults faults;

ssize_t write_or_fail(int fd, const void* from, std::size_t bytes, off_t at) {
  if (faults.write != 0) return errno = faults.write, -1;
  return ::pwrite(fd, from, faults.most > 0 ? std::min(bytes, faults.most) : bytes, at);
}
ssize_t read_or_fail(int fd, void* to, std::size_t bytes, off_t at) {
  if (faults.read != 0) return errno = faults.read, -1;
  const ssize_t moved = ::pread(fd, to, faults.most > 0 ? std::min(bytes, faults.most) : bytes, at);
  if (faults.flip && moved > 0) static_cast<char*>(to)[0] ^= 1;
  return moved;
}
int allocate_or_fail(int fd, off_t from, off_t bytes) {
  return faults.allocate != 0 ? faults.allocate : ::posix_fallocate(fd, from, bytes);
}
constexpr FileCalls kFaulty{&write_or_fail, &read_or_fail, &allocate_or_fail};

class SpillTest : public ::testing::Test {
 protected:
  SpillTest() {
    std::string name = (fs::temp_directory_path() / "stowage-spill-test-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    faults = {};
  }
  ~SpillTest() override { fs::remove_all(folder_); }

  std::unique_ptr<SpillStore> open() {
    Result<std::unique_ptr<SpillStore>> store = SpillStore::open(folder_, kFaulty);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  static std::unique_ptr<StoredCopy> put(Store& store, const Content& content) {
    Result<std::unique_ptr<StoredCopy>> copy = store.put(content.data(), bytes_of(content));
    EXPECT_TRUE(copy) << copy.error().message;
    return std::move(*copy);
  }
  static std::unique_ptr<StoredCopy> begin_put(Store& store, const Content& content) {
    Result<std::unique_ptr<StoredCopy>> copy = store.begin_put(content.data(), bytes_of(content));
    EXPECT_TRUE(copy) << copy.error().message;
    return std::move(*copy);
  }
  static void expect_back(StoredCopy& copy, const Content& content) {
    Content back(content.size());
    const Status read = copy.read(back.data());
    EXPECT_TRUE(read) << read.error().message;
    EXPECT_EQ(back, content);
  }

  std::string folder_;
};

TEST_F(SpillTest, BytesComeBack) {
  const auto store = open();
  for (const std::size_t words : {1u, 511u, 512u, 513u, 524'288u, 1'300'001u}) {
    const Content content = content_of(words, words);
    const auto copy = put(*store, content);
    EXPECT_EQ(store->held(), bytes_of(content));
    expect_back(*copy, content);
    expect_back(*copy, content);
  }
  EXPECT_EQ(store->held(), 0u);
}

TEST_F(SpillTest, ManyAtOnceKeepApart) {
  const auto store = open();
  std::mt19937 random(7);
  std::vector<std::pair<Content, std::unique_ptr<StoredCopy>>> stored;
  for (int step = 0; step < 300; ++step) {
    if (stored.size() < 4 || random() % 2 == 0) {
      Content content = content_of(1 + random() % 4000, random());
      auto copy = put(*store, content);
      stored.emplace_back(std::move(content), std::move(copy));
    } else {
      std::swap(stored[random() % stored.size()], stored.back());
      expect_back(*stored.back().second, stored.back().first);
      stored.pop_back();
    }
  }
  for (const auto& [content, copy] : stored) expect_back(*copy, content);
}

TEST_F(SpillTest, NoFileHasAName) {
  const auto store = open();
  const auto copy = put(*store, content_of(1000, 1));
  EXPECT_TRUE(fs::is_empty(folder_)) << "a killed process leaves nothing";
}

TEST_F(SpillTest, ACopyCostsWhatWasMeasured) {
  const auto store = open();
  EXPECT_GT(store->copy_ns(1 << 20), store->copy_ns(1 << 10));
  EXPECT_LT(store->copy_ns(1 << 20), 1'000'000'000u);
}

TEST_F(SpillTest, AFullDiskIsSaidBeforeAnythingIsWritten) {
  const auto store = open();
  const Content kept = content_of(5000, 1);
  const auto copy = put(*store, kept);
  faults.allocate = ENOSPC;
  const Content large = content_of(16u << 20, 2);
  const auto refused = store->put(large.data(), bytes_of(large));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_NE(refused.error().message.find(folder_), std::string::npos) << refused.error().message;
  EXPECT_EQ(store->held(), bytes_of(kept));
  expect_back(*copy, kept);
  faults.allocate = 0;
  expect_back(*put(*store, large), large);
}

TEST_F(SpillTest, AFailedWriteLeavesNothing) {
  const auto store = open();
  const Content content = content_of(5000, 1);
  for (const int reason : {EIO, ENOSPC, EDQUOT}) {
    faults.write = reason;
    EXPECT_FALSE(store->put(content.data(), bytes_of(content)));
    EXPECT_EQ(store->held(), 0u);
    faults.write = 0;
    expect_back(*put(*store, content), content);
  }
}

TEST_F(SpillTest, ShortWritesAndReadsGoOn) {
  const auto store = open();
  faults.most = 4096;
  const Content content = content_of(50'000, 1);
  expect_back(*put(*store, content), content);
}

TEST_F(SpillTest, AFailedReadCanBeTriedAgain) {
  const auto store = open();
  const Content content = content_of(5000, 1);
  const auto copy = put(*store, content);
  Content back(content.size());
  faults.read = EIO;
  const Status read = copy->read(back.data());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kIo);
  faults.read = 0;
  expect_back(*copy, content);
}

TEST_F(SpillTest, CopiesThatAreBegunAreDoneInOrder) {
  const auto store = open();
  EXPECT_EQ(store->lanes(), CopyLanes::kShared);
  std::vector<Content> contents, back;
  std::vector<std::unique_ptr<StoredCopy>> copies;
  for (std::uint64_t i = 0; i < 20; ++i) {
    contents.push_back(content_of(1000 + 20'000 * (i % 7), i));
    back.emplace_back(contents.back().size());
  }
  for (const Content& content : contents) copies.push_back(begin_put(*store, content));
  EXPECT_TRUE(copies.back()->finish());
  for (std::size_t i = 0; i < copies.size(); ++i) {
    EXPECT_TRUE(copies[i]->finish()) << "it was begun before the last one, and is done";
    EXPECT_TRUE(copies[i]->begin_read(back[i].data()));
  }
  for (const auto& copy : copies) EXPECT_TRUE(copy->finish());
  EXPECT_EQ(back, contents);
}

TEST_F(SpillTest, WhatFailsWhileItIsUnderWayIsAnErrorWhenItIsWaitedFor) {
  const auto store = open();
  const Content content = content_of(5000, 1);
  faults.write = EIO;
  auto copy = begin_put(*store, content);
  const Status whole = copy->finish();
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code, ErrorCode::kIo);
  copy.reset();
  EXPECT_EQ(store->held(), 0u);
  faults.write = 0;
  const auto good = put(*store, content);
  Content back(content.size());
  faults.read = EIO;
  EXPECT_TRUE(good->begin_read(back.data()));
  EXPECT_FALSE(good->finish());
  faults.read = 0;
  expect_back(*good, content);
}

TEST_F(SpillTest, ACopyThatIsGivenUpIsFinishedFirst) {
  const auto store = open();
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Content content = content_of(100'000, i);
    begin_put(*store, content).reset();
  }
  EXPECT_EQ(store->held(), 0u);
}

std::uint64_t* written_on_the_way = nullptr;
ssize_t write_and_change(int fd, const void* from, std::size_t bytes, off_t at) {
  if (written_on_the_way != nullptr) ++*written_on_the_way;
  return ::pwrite(fd, from, bytes, at);
}

TEST_F(SpillTest, WhatChangesWhileItIsCopiedIsNoCopy) {
  FileCalls calls;
  calls.write = &write_and_change;
  Content content = content_of(5000, 1);
  auto store = SpillStore::open(folder_, calls);
  ASSERT_TRUE(store);
  written_on_the_way = &content[4000];
  const auto copy = begin_put(**store, content);
  EXPECT_FALSE(copy->finish());
  written_on_the_way = nullptr;
}

TEST_F(SpillTest, ACopyKnowsWhetherItIsOfTheseBytes) {
  const auto store = open();
  Content content = content_of(5000, 1);
  const auto copy = put(*store, content);
  EXPECT_TRUE(copy->matches(content.data()));
  content[4999] ^= 1;
  EXPECT_FALSE(copy->matches(content.data()));
}

TEST_F(SpillTest, OtherBytesAreAnError) {
  const auto store = open();
  const auto copy = put(*store, content_of(5000, 1));
  Content back(5000);
  faults.flip = true;
  EXPECT_FALSE(copy->read(back.data()));
}

TEST_F(SpillTest, AFolderThatIsNotThereIsOneError) {
  const auto store = SpillStore::open(folder_ + "/none");
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("/none"), std::string::npos) << store.error().message;
}

TEST_F(SpillTest, AQuotaOnFilesIsAFullDisk) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{32u << 20, 32u << 20};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto store = SpillStore::open(folder_);
    const Content small = content_of(1000, 1);
    const Content large = content_of(8u << 20, 2);
    if (!store) ::_exit(1);
    const auto kept = (*store)->put(small.data(), bytes_of(small));
    if (!kept || (*store)->put(large.data(), bytes_of(large))) ::_exit(2);
    Content back(small.size());
    ::_exit((*kept)->read(back.data()) && back == small ? 0 : 3);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The parent frees, stores and truncates as it likes; the child reads what was there when it was forked.
TEST_F(SpillTest, AForkedChildReadsWhatWasThere) {
  const auto store = open();
  const Content before = content_of(5000, 1);
  auto copy = put(*store, before);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const Content late = content_of(500'000, 4);
  const auto begun = begin_put(*store, late);
  store->before_fork();
  const pid_t child = ::fork();
  store->after_fork(child == 0);
  if (child == 0) {
    char go = 0;
    if (::read(ready[0], &go, 1) != 1) ::_exit(1);
    Content back(before.size());
    const bool same = copy->read(back.data()) && back == before;
    copy.reset();
    const Content mine = content_of(5000, 2);
    const auto own = store->put(mine.data(), bytes_of(mine));
    Content late_back(late.size());
    const bool late_same = begun->finish() && begun->read(late_back.data()) && late_back == late;
    ::_exit(same && late_same && own && (*own)->read(back.data()) && back == mine ? 0 : 2);
  }
  copy.reset();
  const Content after = content_of(5000, 3);
  const auto next = put(*store, after);
  ASSERT_EQ(::write(ready[1], "x", 1), 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  expect_back(*next, after);
  EXPECT_TRUE(begun->finish());
  expect_back(*begun, late);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace stowage::recompute
