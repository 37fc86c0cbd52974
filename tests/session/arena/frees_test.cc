#include "session/arena/frees.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/session/arena/arena_on_host.h"
#include "tracer/recorder/recorder.h"

namespace stowage::session {
namespace {

/// Writes down what it hears of blocks; waiting for a fence passes them all.
struct HearingPort : FakePort {
  void on_block(BlockEvent event, void* address, Bytes, StreamId) override {
    heard.emplace_back(event, address);
  }
  void wait_for_fence(std::uint64_t) override { pass_fences(); }
  std::vector<std::pair<BlockEvent, void*>> heard;
};

struct FreesTest : testing::Test, ArenaOnHost {
  FreesTest() {
    EXPECT_TRUE(arena->serve({plan_of(3)}).ok());
    arena->resume();
  }
  /// A block of the arena that stream 1 uses, too.
  void* allocate_shared() {
    void* const address = allocate();
    hot.uses.note(address, StreamId(1));
    return address;
  }

  HearingPort hearing;
  Frees frees{hot, hearing, *arena};
};

TEST_F(FreesTest, AreAtOnceWhereNoOtherStreamUsesTheBlock) {
  EXPECT_TRUE(frees.free(allocate()));
  EXPECT_EQ(arena->live_bytes(), Bytes(0));
  int elsewhere = 0;
  EXPECT_FALSE(frees.free(&elsewhere)) << "upstream's";
}

TEST_F(FreesTest, WaitForTheStreamsThatUseTheBlock) {
  EXPECT_TRUE(frees.free(allocate_shared()));
  frees.complete();
  EXPECT_EQ(arena->live_bytes(), Bytes(kBlock));
  EXPECT_TRUE(arena->awaits_frees());
  hearing.pass_fences();
  frees.complete();
  EXPECT_EQ(arena->live_bytes(), Bytes(0));
  EXPECT_FALSE(arena->awaits_frees());
}

TEST_F(FreesTest, AreFinishedByWaitingForTheStreams) {
  frees.free(allocate_shared());
  frees.free(allocate_shared());
  frees.finish();
  EXPECT_EQ(arena->live_bytes(), Bytes(0));
}

TEST_F(FreesTest, AreHeardOfInTwoStepsWhereTheyWait) {
  hot.history.store(true, std::memory_order_relaxed);
  void* const alone = allocate();
  void* const shared = allocate_shared();
  frees.free(alone);
  frees.free(shared);
  using Heard = decltype(hearing.heard);
  const Heard at_once{{BlockEvent::kFreeRequested, alone}, {BlockEvent::kFreeCompleted, alone}};
  EXPECT_EQ(Heard(hearing.heard.begin(), hearing.heard.begin() + 2), at_once);
  ASSERT_EQ(hearing.heard.size(), 3u);
  EXPECT_EQ(hearing.heard[2], std::pair(BlockEvent::kFreeRequested, shared));
  frees.finish();
  ASSERT_EQ(hearing.heard.size(), 4u);
  EXPECT_EQ(hearing.heard[3], std::pair(BlockEvent::kFreeCompleted, shared));
}

TEST_F(FreesTest, AreWrittenDownWithTheTimeTheyAreComplete) {
  tracer::Recorder recorder(TraceInfo(), {});
  hot.recorder.store(&recorder);
  void* const address = allocate_shared();
  recorder.on_alloc(address, Bytes(kBlock), Bytes(kBlock), kStream);
  frees.free(address);
  EXPECT_EQ(recorder.live(), Bytes(kBlock));
  frees.finish();
  EXPECT_EQ(recorder.live(), Bytes(0));
  hot.recorder.store(nullptr);
}

}  // namespace
}  // namespace stowage::session
