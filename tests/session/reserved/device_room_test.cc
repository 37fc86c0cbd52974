#include "session/reserved/device_room.h"

#include <gtest/gtest.h>

#include "tests/session/arena/arena_on_host.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kSlot = 16 << 20;

/// The job's plan takes 96 MiB, in six slots one beside the other.
struct DeviceRoomTest : testing::Test, GuardedArena {
  DeviceRoomTest() {
    Plan plan;
    for (std::uint64_t i = 0; i < 6; ++i)
      plan.entries.push_back({Bytes(kSlot), kStream, Offset(i * kSlot), kUpstream});
    plan.height = Bytes(6 * kSlot);
    EXPECT_TRUE(arena->serve({plan}).ok());
    guard.most();
    arena->resume();
  }
  /// All of the plan's requests, and their frees.
  void iterate() {
    std::vector<void*> live;
    for (int i = 0; i < 6; ++i) live.push_back(request());
    for (void* each : live) {
      if (each != nullptr) free(each);
    }
    arena->allocator().on_mark();
  }
  void* request() {
    allocator::PlannedAllocator& now = arena->allocator();
    if (const Bytes more = room.for_arena(now, Bytes(kSlot), kStream); more.value() != 0) {
      room.give_up_idle_for(more);
      room.look_again(now, Bytes(kSlot), kStream);
    }
    return now.allocate(Bytes(kSlot), kStream);
  }
  [[nodiscard]] Bytes committed() const { return arena->allocator().committed_bytes(); }

  DeviceRoom room{port, *arena, guard};
};

TEST_F(DeviceRoomTest, TheArenaTakesMemoryAsItIsUsed) {
  EXPECT_EQ(committed(), Bytes(0));
  iterate();
  EXPECT_EQ(committed(), Bytes(6 * kSlot));
  EXPECT_FALSE(room.is_strained(true));
}

TEST_F(DeviceRoomTest, WhatUpstreamCachesMakesWayForTheArena) {
  port.give_back(port.allocate(Bytes(50 * kMib)));
  const int before = port.releases;
  iterate();
  EXPECT_EQ(port.releases, before + 1);
  EXPECT_EQ(port.upstream_use().reserved, Bytes(0));
}

TEST_F(DeviceRoomTest, WhatUpstreamCouldNotGiveBackIsPinned) {
  port.pinned = Bytes(8 * kMib);
  port.give_back(port.allocate(Bytes(50 * kMib)));
  EXPECT_EQ(room.pinned(), Bytes(0)) << "nobody knows before a release";
  room.release_upstream();
  EXPECT_EQ(room.pinned(), Bytes(8 * kMib));
  port.give_back(port.allocate(Bytes(50 * kMib)));
  EXPECT_EQ(room.pinned(), Bytes(8 * kMib)) << "what was cached since can go back";
  void* const filled = port.allocate(Bytes(45 * kMib));
  EXPECT_EQ(room.pinned(), Bytes(5 * kMib));
  port.give_back(filled);
}

TEST_F(DeviceRoomTest, IdleMemoryOfTheArenaMakesWayForUpstream) {
  iterate();
  room.for_upstream(Bytes(4 * kMib), kStream);
  EXPECT_EQ(committed(), Bytes(6 * kSlot)) << "there is room for both";
  room.for_upstream(Bytes(40 * kMib), kStream);
  EXPECT_LE(committed() + Bytes(40 * kMib), guard.last_most());
  EXPECT_LT(committed(), Bytes(6 * kSlot));
}

TEST_F(DeviceRoomTest, WhatLivesInTheArenaStays) {
  iterate();
  std::vector<void*> live;
  for (int i = 0; i < 6; ++i) live.push_back(arena->allocator().allocate(Bytes(kSlot), kStream));
  room.for_upstream(Bytes(40 * kMib), kStream);
  EXPECT_EQ(committed(), Bytes(6 * kSlot));
  for (void* each : live) free(each);
}

TEST_F(DeviceRoomTest, AJobThatPassesMemoryToAndFroAllTheTimeIsStrained) {
  int iterations = 0;
  do {
    iterate();
    room.for_upstream(Bytes(40 * kMib), kStream);
  } while (!room.is_strained(false) && ++iterations < 100);
  EXPECT_LT(iterations, 10);
  room.restart();
  for (int i = 0; i < 100; ++i) {
    iterate();
    if (i % 10 == 0) room.for_upstream(Bytes(40 * kMib), kStream);
    EXPECT_FALSE(room.is_strained(false)) << "now and then is no strain";
  }
}

TEST_F(DeviceRoomTest, WithoutAPlanPiecesThatAreTooSmallGoBeforeUpstreamTakesMore) {
  port.piece = Bytes(10 * kMib);
  port.give_back(port.allocate(Bytes(60 * kMib)));
  const int before = port.releases;
  room.keep_peak_low(Bytes(8 * kMib));
  EXPECT_EQ(port.releases, before) << "they serve it";
  room.keep_peak_low(Bytes(30 * kMib));
  EXPECT_EQ(port.releases, before) << "upstream had more before";
  room.keep_peak_low(Bytes(50 * kMib));
  EXPECT_EQ(port.releases, before + 1);
}

/// The same under a budget of six slots, of which upstream holds `upstream`.
struct DeviceRoomUnderABudget : DeviceRoomTest {
  void hold(std::uint64_t upstream) {
    port.counted = port.in_parts = true;
    port.count.set_limit(Bytes(6 * kSlot));
    port.count.take(Bytes(upstream));
  }
};

TEST_F(DeviceRoomUnderABudget, WhatUpstreamCachesMakesWayIfThatIsEnough) {
  hold(6 * kSlot);
  const int before = port.releases;
  port.give_back(port.allocate(Bytes(kSlot / 2)));
  EXPECT_EQ(request(), nullptr);
  EXPECT_EQ(port.releases, before) << "it would not be enough";
  port.give_back(port.allocate(Bytes(2 * kSlot)));
  EXPECT_EQ(request(), nullptr) << "this upstream uncounts nothing";
  EXPECT_EQ(port.releases, before + 1);
}

TEST_F(DeviceRoomUnderABudget, AShortageIsRemembered) {
  hold(kSlot);
  EXPECT_EQ(arena->shortage(), Bytes(0));
  for (int i = 0; i < 5; ++i) EXPECT_NE(request(), nullptr);
  EXPECT_EQ(arena->shortage(), Bytes(0));
  port.count.take(Bytes(6 * kSlot));
  EXPECT_EQ(request(), nullptr);
  EXPECT_EQ(arena->shortage(), arena->missing());
  EXPECT_GT(arena->shortage(), Bytes(0));
  EXPECT_TRUE(arena->count_whole());
  EXPECT_EQ(arena->shortage(), Bytes(0));
}

}  // namespace
}  // namespace stowage::session
