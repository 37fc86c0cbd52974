// Jobs whose iterations never repeat are served from the arena, too, and are not worse off for it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "allocator/model/caching_model.h"
#include "tests/session/caching_session.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

struct SessionOnline : CachingSessionTest {
  void SetUp() override {
    port.info.device.kind = DeviceKind::kCuda;
    CachingSessionTest::SetUp();
  }
  nlohmann::json report() { return nlohmann::json::parse(session->report_json()); }
  void* allocate(std::uint64_t bytes, std::uint32_t stream = 0) {
    void* const address = job->allocate(bytes, stream);
    in_model[address] = model.allocate(round_up(Bytes(bytes)), StreamId(stream));
    return address;
  }
  void free(void* address) {
    model.free(in_model.at(address));
    in_model.erase(address);
    job->free(address);
  }
  std::uint64_t any_size() {
    return random() % 2 == 0 ? 512 + random() % 60'000 : 2 * kMib + 512 * (random() % (12 * kMib / 512));
  }
  void mark() { session->on_mark(MarkSource::kOptimizer); }
  /// A forward and a backward pass of sizes that never were before.
  void iterate(int count = 24) {
    std::vector<void*> live;
    for (int i = 0; i < count; ++i) {
      live.push_back(allocate(any_size()));
      free(allocate(any_size()));
    }
    while (!live.empty()) {
      void* const gradient = allocate(any_size());
      free(live.back());
      live.pop_back();
      free(gradient);
    }
    mark();
  }
  void reach_online() {
    for (int i = 0; i < 20 && session->state() != SessionState::kOnline; ++i) iterate();
    ASSERT_EQ(session->state(), SessionState::kOnline) << session->report_json();
  }
  Bytes reserved() { return session->arena_bytes() + port.upstream_use().reserved; }
  void expect_nothing_left() {
    session->stop();
    mark();
    EXPECT_EQ(session->arena_bytes(), Bytes(0));
    EXPECT_FALSE(session->needs_marks());
    EXPECT_EQ(port.upstream_use().allocated, Bytes(0));
  }

  std::minstd_rand random{1};
  allocator::CachingModel model{allocator::CachingModel::Segments::kExpandable};
  std::map<void*, std::uint64_t> in_model;
};

TEST_F(SessionOnline, AJobThatNeverRepeatsItselfIsServedFromTheArenaSoon) {
  for (int i = 0; i < 15; ++i) iterate();
  EXPECT_EQ(session->state(), SessionState::kRecording);
  iterate();
  EXPECT_EQ(session->state(), SessionState::kOnline);
  EXPECT_EQ(report()["switched_at_iteration"], 16);
  EXPECT_EQ(report()["reason"], "");
  for (int i = 0; i < 40; ++i) iterate();
  const nlohmann::json found = report();
  EXPECT_EQ(found["state"], "online") << found;
  EXPECT_EQ(found["online"], 40 * 72);
  EXPECT_EQ(found["planned_iterations"], 40);
  EXPECT_EQ(found["clean_iterations"], 40);
  EXPECT_EQ(found["missed_bytes"], 0);
  EXPECT_EQ(port.outs, 0);
  expect_nothing_left();
}

TEST_F(SessionOnline, ReservesAtMostWhatExpandableSegmentsDo) {
  std::vector<void*> weights;
  for (int i = 0; i < 10; ++i) weights.push_back(allocate(any_size()));
  reach_online();
  for (int i = 0; i < 100; ++i) {
    iterate();
    EXPECT_LE(reserved(), model.reserved()) << i;
  }
  EXPECT_EQ(session->state(), SessionState::kOnline);
  for (void* weight : weights) free(weight);
}

TEST_F(SessionOnline, ServesWhatStaysAndWhatGrows) {
  reach_online();
  std::vector<void*> cache;
  for (int i = 0; i < 30; ++i) {
    void* const grown = allocate(static_cast<std::uint64_t>(i + 1) * 100'000);
    EXPECT_TRUE(session->owns(grown));
    if (!cache.empty() && i % 5 != 0) {
      free(cache.back());
      cache.pop_back();
    }
    cache.push_back(grown);
    iterate();
    EXPECT_LE(reserved(), model.reserved()) << i;
  }
  EXPECT_EQ(session->state(), SessionState::kOnline) << session->report_json();
  session->stop();
  EXPECT_EQ(session->active_blocks(cache.front()).size(), cache.size());
  for (void* block : cache) free(block);
  expect_nothing_left();
}

TEST_F(SessionOnline, IsPlannedOnceItRepeatsItself) {
  reach_online();
  void* const kept = allocate(3 * kMib);
  const auto repeat = [&] {
    for (int i = 1; i <= 4; ++i) job->free(job->allocate(i * kMib));
    mark();
  };
  int iterations = 0;
  while (session->state() == SessionState::kOnline && iterations < 300) repeat(), ++iterations;
  EXPECT_NE(session->state(), SessionState::kOff) << session->report_json();
  for (int i = 0; i < 3; ++i) repeat();
  EXPECT_EQ(session->state(), SessionState::kPlanned) << session->report_json();
  EXPECT_EQ(report()["last_iteration_misses"], 0);
  EXPECT_TRUE(session->owns(kept)) << "in the former arena";
  free(kept);
  expect_nothing_left();
}

TEST_F(SessionOnline, AJobWithoutMarksIsServedOnceItIsClearThatNoneWillCome) {
  std::vector<void*> live;
  int allocations = 0;
  for (; allocations < 70'000 && session->state() != SessionState::kOnline; ++allocations) {
    live.push_back(allocate(512 + random() % 100'000));
    if (live.size() < 20) continue;
    std::swap(live[random() % live.size()], live.back());
    free(live.back());
    live.pop_back();
  }
  EXPECT_EQ(session->state(), SessionState::kOnline) << allocations;
  void* const served = allocate(kMib);
  EXPECT_TRUE(session->owns(served));
  free(served);
  for (void* block : live) free(block);
  mark();
  EXPECT_EQ(session->state(), SessionState::kRecording) << "an optimizer marks after all";
}

TEST_F(SessionOnline, AJobThatLeavesItsPlansTooOftenIsServedWithoutOne) {
  Settings settings;
  settings.max_replans = 0;
  settings.diverged_iterations = 2;
  restart(settings);
  for (int i = 0; i < 8 && session->state() != SessionState::kPlanned; ++i) job->iterate(20);
  ASSERT_EQ(session->state(), SessionState::kPlanned);
  for (int i = 0; i < 30 && session->state() == SessionState::kPlanned; ++i) iterate();
  EXPECT_EQ(session->state(), SessionState::kOnline) << session->report_json();
  EXPECT_TRUE(report()["plans"].empty());
  for (int i = 0; i < 10; ++i) iterate();
  EXPECT_EQ(session->state(), SessionState::kOnline);
  EXPECT_EQ(report()["last_iteration_misses"], 0);
  expect_nothing_left();
}

TEST_F(SessionOnline, IsLeftWhereTheArenaTakesMoreThanTheJobNeeds) {
  reach_online();
  for (std::uint32_t i = 0; i < 60 && session->state() == SessionState::kOnline; ++i) {
    job->free(job->allocate(64 * kMib, i % 8 + 1));
    mark();
  }
  EXPECT_EQ(session->state(), SessionState::kOff);
  EXPECT_NE(report()["reason"].get<std::string>().find("without a plan the arena takes"), std::string::npos);
  EXPECT_EQ(session->arena_bytes(), Bytes(0));
  EXPECT_EQ(port.outs, 1);
}

TEST_F(SessionOnline, WithoutAnArenaTheJobGoesOn) {
  port.no_memory = true;
  for (int i = 0; i < 20; ++i) iterate();
  EXPECT_EQ(session->state(), SessionState::kOff);
  EXPECT_NE(report()["reason"].get<std::string>().find("the device has no memory left"), std::string::npos);
  expect_nothing_left();
}

TEST_F(SessionOnline, IsASetting) {
  Settings settings;
  settings.online = false;
  restart(settings);
  for (int i = 0; i < 49; ++i) iterate();
  EXPECT_EQ(session->state(), SessionState::kRecording);
  iterate();
  EXPECT_EQ(session->state(), SessionState::kOff);
  EXPECT_EQ(report()["reason"], "no two of 50 iterations made the same allocations");
}

TEST_F(SessionOnline, StreamsThatUseABlockHoldIt) {
  reach_online();
  void* const block = allocate(3 * kMib);
  EXPECT_TRUE(session->record_stream(block, StreamId(1)));
  EXPECT_TRUE(session->free(block));
  EXPECT_FALSE(session->block_at(block));
  void* const other = job->allocate(3 * kMib);
  EXPECT_NE(other, block);
  port.pass_fences();
  void* const again = job->allocate(3 * kMib);
  EXPECT_EQ(again, block);
  job->free(again);
  job->free(other);
}

TEST_F(SessionOnline, ACaptureChangesNothingAndServes) {
  reach_online();
  port.capturing = true;
  const Bytes before = session->arena_bytes();
  for (int i = 0; i < 3; ++i) iterate();
  session->give_back_idle();
  EXPECT_GE(session->arena_bytes(), before);
  EXPECT_EQ(report()["missed_bytes"], 0);
  port.capturing = false;
  session->give_back_idle();
  EXPECT_EQ(session->arena_bytes(), Bytes(0)) << "nothing is live";
  EXPECT_EQ(session->state(), SessionState::kOnline);
  iterate();
  EXPECT_EQ(report()["missed_bytes"], 0);
}

TEST_F(SessionOnline, AForkedChildServesNothing) {
  reach_online();
  auto* const block = static_cast<char*>(allocate(kMib));
  block[0] = 42;
  const pid_t child = fork();
  if (child == 0) {
    session->after_fork();
    const bool well = block[0] == 42 && session->free(block) && session->state() == SessionState::kOff &&
                      session->try_allocate(Bytes(kMib), StreamId(0)) == nullptr;
    _exit(well ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  free(block);
}

TEST_F(SessionOnline, ABetterMarkBeginsTheRecordingAnew) {
  reach_online();
  session->on_mark(MarkSource::kUser);
  EXPECT_EQ(session->state(), SessionState::kRecording);
  void* const block = allocate(kMib);
  EXPECT_FALSE(session->owns(block));
  free(block);
}

}  // namespace
}  // namespace stowage::session
