#include "session/arena/served_arena.h"

#include <gtest/gtest.h>

#include "tests/session/arena/arena_on_host.h"

namespace stowage::session {
namespace {

struct ServedArenaTest : testing::Test, ArenaOnHost {};

TEST_F(ServedArenaTest, HandsOutAddressesFromResumeToPause) {
  EXPECT_FALSE(arena->exists());
  ASSERT_TRUE(arena->serve({plan_of(2)}).ok());
  EXPECT_TRUE(arena->exists());
  EXPECT_EQ(allocate(), nullptr);
  arena->resume();
  void* const address = allocate();
  ASSERT_NE(address, nullptr);
  EXPECT_EQ(arena->owner_of(address), &arena->allocator());
  EXPECT_EQ(arena->live_bytes(), Bytes(kBlock));
  arena->pause();
  EXPECT_EQ(allocate(), nullptr);
}

TEST_F(ServedArenaTest, GoesBackWhenNothingLivesInIt) {
  ASSERT_TRUE(arena->serve({plan_of(2)}).ok());
  arena->resume();
  void* const address = allocate();
  arena->give_back();
  EXPECT_TRUE(arena->exists()) << "it is served from";
  arena->pause();
  arena->give_back();
  EXPECT_TRUE(arena->exists()) << "a tensor lives in it";
  free(address);
  port.capturing = true;
  arena->give_back();
  EXPECT_TRUE(arena->exists()) << "the device cannot be waited for";
  port.capturing = false;
  arena->give_back();
  EXPECT_FALSE(arena->exists());
  EXPECT_EQ(arena->committed_bytes(), Bytes(0));
}

TEST_F(ServedArenaTest, IsPartedWithWhereATensorLives) {
  ASSERT_TRUE(arena->serve({plan_of(2)}).ok());
  arena->resume();
  void* const old = allocate();
  allocator::PlannedAllocator* const first = &arena->allocator();
  arena->pause();
  ASSERT_TRUE(arena->serve({plan_of(3)}).ok());
  EXPECT_NE(&arena->allocator(), first);
  EXPECT_EQ(arena->owner_of(old), first);
  EXPECT_EQ(arena->outside_bytes(UpstreamUse{Bytes(100)}), Bytes(100 + kBlock));
  arena->shrink_former();
  EXPECT_EQ(arena->owner_of(old), first);
  free(old);
  arena->shrink_former();
  EXPECT_EQ(arena->owner_of(old), nullptr);
}

TEST_F(ServedArenaTest, OfAFormerOneTheBudgetCountsWhatLivesInIt) {
  limit(20 * kBlock);
  ASSERT_TRUE(arena->serve({plan_of(8)}).ok());
  arena->resume();
  void* const handed_on = allocate();
  void* const stays = allocate();
  arena->pause();
  ASSERT_TRUE(arena->serve({plan_of(8)}).ok());
  EXPECT_NE(arena->owner_of(stays), &arena->allocator()) << "it may be in the way there";
  EXPECT_EQ(port.count.held(), Bytes(10 * kBlock));
  free(handed_on);
  arena->shrink_former();
  EXPECT_EQ(port.count.held(), Bytes(9 * kBlock));
  free(stays);
  arena->shrink_former();
  EXPECT_EQ(port.count.held(), Bytes(8 * kBlock));
}

TEST_F(ServedArenaTest, StaysWhereTheDeviceCannotBeWaitedFor) {
  ASSERT_TRUE(arena->serve({plan_of(2)}).ok());
  arena->resume();
  void* const old = allocate();
  arena->pause();
  port.capturing = true;
  EXPECT_FALSE(*arena->serve({plan_of(3)})) << "put off";
  EXPECT_EQ(arena->owner_of(old), &arena->allocator());
}

TEST_F(ServedArenaTest, ThatCannotBeMappedIsAnError) {
  port.no_memory = true;
  EXPECT_FALSE(arena->serve({plan_of(2)}).ok());
  EXPECT_FALSE(arena->exists());
  port.no_memory = false;
  make(Fault::kArena);
  EXPECT_FALSE(arena->serve({plan_of(2)}).ok());
}

TEST_F(ServedArenaTest, SettlesWhereTheBudgetHasNoRoomForAllOfIt) {
  limit(3 * kBlock);
  port.count.take(Bytes(kBlock));  // upstream's, from before the switch
  ASSERT_TRUE(arena->serve({plan_of(3)}).ok());
  arena->resume();
  EXPECT_TRUE(arena->settles());
  EXPECT_NE(allocate(), nullptr);
  EXPECT_NE(allocate(), nullptr);
  EXPECT_EQ(port.count.held(), Bytes(3 * kBlock));
  EXPECT_EQ(allocate(), nullptr) << "the budget is used up";
  EXPECT_FALSE(arena->count_whole());
  EXPECT_EQ(arena->missing(), Bytes(kBlock));
  port.count.give(Bytes(kBlock));
  EXPECT_TRUE(arena->count_whole());
  EXPECT_FALSE(arena->settles());
  EXPECT_EQ(hot.serving.load(), &arena->allocator());
}

TEST_F(ServedArenaTest, UnderABudgetGivesUpWhatNobodyUses) {
  limit(8 * kBlock);
  ASSERT_TRUE(arena->serve({plan_of(4)}).ok());
  arena->resume();
  ASSERT_EQ(port.count.held(), Bytes(4 * kBlock));
  void* const address = allocate();
  arena->settle_again();
  EXPECT_TRUE(arena->settles());
  EXPECT_EQ(arena->give_up_free_parts(), Bytes(3 * kBlock));
  EXPECT_EQ(port.count.held(), Bytes(kBlock));
  free(address);
  EXPECT_NE(allocate(), nullptr);
  EXPECT_EQ(port.count.held(), Bytes(2 * kBlock)) << "counted as it is used";
}

/// Under a budget of three pages, of which upstream has one from before the switch.
struct ArenaInPages : ServedArenaTest {
  ArenaInPages() {
    limit(3 * kPage);
    port.on_touch = false;
    port.in_parts = true;
    port.count.take(Bytes(kPage));
    EXPECT_TRUE(arena->serve({plan_of(3, kPage)}).ok());
    EXPECT_EQ(port.count.held(), Bytes(kPage)) << "addresses take no memory";
    arena->resume();
  }
  void make_whole() {
    port.count.give(Bytes(kPage));
    ASSERT_TRUE(arena->count_whole());
  }
};

TEST_F(ArenaInPages, SettlesPageByPage) {
  EXPECT_TRUE(arena->settles());
  EXPECT_TRUE(hot.thin.load());
  EXPECT_NE(allocate(kPage), nullptr);
  EXPECT_NE(allocate(kPage), nullptr);
  EXPECT_EQ(port.count.held(), Bytes(3 * kPage));
  EXPECT_EQ(allocate(kPage), nullptr) << "the budget is used up";
  EXPECT_FALSE(arena->count_whole());
  EXPECT_EQ(arena->missing(), Bytes(kPage));
  make_whole();
  EXPECT_FALSE(arena->settles());
  EXPECT_FALSE(hot.thin.load());
  EXPECT_EQ(port.count.held(), Bytes(3 * kPage));
}

TEST_F(ArenaInPages, GivesIdlePagesBackAndTakesThemAgain) {
  make_whole();
  ASSERT_NE(allocate(kPage), nullptr);
  EXPECT_EQ(arena->give_up_free_parts(Bytes(1)), Bytes(kPage)) << "no more than was asked for";
  EXPECT_TRUE(arena->settles());
  EXPECT_EQ(arena->give_up_free_parts(), Bytes(kPage));
  EXPECT_EQ(port.count.held(), Bytes(kPage));
  EXPECT_NE(allocate(kPage), nullptr);
  EXPECT_EQ(port.count.held(), Bytes(2 * kPage));
}

TEST_F(ArenaInPages, KeepsThemWhileTheDeviceCannotBeWaitedFor) {
  make_whole();
  port.capturing = true;
  EXPECT_EQ(arena->give_up_free_parts(), Bytes(0));
  EXPECT_FALSE(arena->settles());
}

TEST_F(ArenaInPages, IsWholeWithThePagesThatItsPlansUse) {
  make_whole();
  arena->pause();
  ASSERT_TRUE(arena->serve({plan_of(1, kPage)}).ok());
  arena->resume();
  EXPECT_EQ(arena->give_up_free_parts(), Bytes(3 * kPage));
  EXPECT_TRUE(arena->count_whole());
  EXPECT_FALSE(arena->settles());
  EXPECT_EQ(port.count.held(), Bytes(kPage));
}

TEST_F(ServedArenaTest, AForkedChildIsServedNothing) {
  ASSERT_TRUE(arena->serve({plan_of(2)}).ok());
  arena->resume();
  arena->after_fork();
  EXPECT_EQ(allocate(), nullptr);
}

}  // namespace
}  // namespace stowage::session
