// Frees that wait for other streams, and what the port hears of blocks.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "session/session.h"
#include "tests/session/fake_port.h"

namespace stowage::session {
namespace {

using Heard = std::vector<std::pair<BlockEvent, void*>>;

/// Writes down what it hears of blocks; waiting for a fence passes them all.
struct ListeningPort : FakePort {
  void on_block(BlockEvent event, void* address, Bytes, StreamId) override {
    heard.emplace_back(event, address);
  }
  void wait_for_fence(std::uint64_t) override { pass_fences(); }
  bool fence_passed(std::uint64_t fence) override {
    ++asked;
    return FakePort::fence_passed(fence);
  }
  Heard heard;
  int asked = 0;
};

struct SessionFrees : testing::Test {
  void SetUp() override {
    Settings settings;
    settings.plan_wait_ms = 60'000;
    session = std::make_unique<Session>(port, no_torch(), settings);
    job = std::make_unique<FakeJob>(port, *session);
    for (int i = 0; i < 6 && session->state() != SessionState::kPlanned; ++i) job->iterate();
    ASSERT_EQ(session->state(), SessionState::kPlanned);
    job->iterate();
  }
  /// A block of the arena, freed while stream 1 uses it.
  void* free_in_use(std::uint64_t bytes) {
    void* const used = job->allocate(bytes);
    EXPECT_TRUE(session->record_stream(used, StreamId(1)));
    job->free(used);
    return used;
  }
  ListeningPort port;
  std::unique_ptr<Session> session;
  std::unique_ptr<FakeJob> job;
};

TEST_F(SessionFrees, CompleteBeforeTheNextAllocation) {
  free_in_use(1000);
  EXPECT_EQ(session->arena_live_bytes(), Bytes(1024));
  port.pass_fences();
  EXPECT_EQ(session->arena_live_bytes(), Bytes(1024)) << "nobody looked yet";
  job->free(job->allocate(2000));
  EXPECT_EQ(session->arena_live_bytes(), Bytes(0));
}

TEST_F(SessionFrees, CompleteWhenTheyAreWaitedFor) {
  free_in_use(1000);
  session->finish_frees();
  EXPECT_EQ(session->arena_live_bytes(), Bytes(0));
}

TEST_F(SessionFrees, AskForOneFenceAStreamWhichIsPassedInOrder) {
  free_in_use(1000);
  free_in_use(2000);
  free_in_use(3000);
  port.asked = 0;
  job->free(job->allocate(4000));
  EXPECT_EQ(port.asked, 1);
}

TEST_F(SessionFrees, ThePortHearsOfBlocksWhereItWantsTo) {
  job->free(job->allocate(1000));
  EXPECT_TRUE(port.heard.empty());
  session->on_mark(MarkSource::kOptimizer);
  session->watch_blocks(true);
  void* const used = free_in_use(1000);
  EXPECT_EQ(port.heard, (Heard{{BlockEvent::kAllocated, used}, {BlockEvent::kFreeRequested, used}}));
  session->finish_frees();
  EXPECT_EQ(port.heard.back(), (Heard::value_type{BlockEvent::kFreeCompleted, used}));
  port.heard.clear();
  void* const next = job->allocate(2000);
  ASSERT_TRUE(session->free_block(next));
  EXPECT_EQ(port.heard, (Heard{{BlockEvent::kAllocated, next},
                               {BlockEvent::kFreeRequested, next},
                               {BlockEvent::kFreeCompleted, next}}));
  EXPECT_FALSE(session->free_block(next)) << "and nothing is heard of a second free";
  EXPECT_EQ(port.heard.size(), 3u);
  session->watch_blocks(false);
  job->free(job->allocate(3000));
  EXPECT_EQ(port.heard.size(), 3u);
}

}  // namespace
}  // namespace stowage::session
