#include "session/planned/served_iterations.h"

#include <gtest/gtest.h>

#include "tests/session/planned/planned_job.h"

namespace stowage::session {
namespace {

struct ServedIterationsTest : testing::Test, PlannedJob {
  ServedIterationsTest() {
    follow(plan_of(3));
    iterations.restart();
  }
  std::optional<ServedIteration> mark() { return iterations.on_mark(MarkSource::kOptimizer); }

  ServedIterations iterations{port, *arena, recording, guard};
};

TEST_F(ServedIterationsTest, TellHowManyRequestsAreOffThePlan) {
  request_all({kBlock, kBlock, kBlock});
  std::optional<ServedIteration> ended = mark();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->requests, 3u);
  EXPECT_TRUE(ended->is_clean());
  request_all({kBlock, kBlock, kBlock, 5000, 6000});
  ended = mark();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->requests, 5u);
  EXPECT_EQ(ended->missed, 2u);
  EXPECT_FALSE(ended->is_clean());
}

TEST_F(ServedIterationsTest, WhatWasFreedSoonBorrowsPlannedPlacesWhenItComesAgain) {
  arena->allocator().improvise(true);
  for (const std::uint64_t missed : {1u, 0u}) {
    release(request(5000));  // an evaluation before the step
    request_all({kBlock, kBlock, kBlock});
    EXPECT_EQ(mark()->missed, missed);
  }
  EXPECT_EQ(arena->allocator().counts().improvised, 1u);
}

TEST_F(ServedIterationsTest, AMarkWithoutRequestsIsNone) {
  request_all({kBlock, kBlock, kBlock});
  EXPECT_TRUE(mark());
  EXPECT_FALSE(mark());
  EXPECT_EQ(arena->allocator().counts().iterations, 1u);
}

TEST_F(ServedIterationsTest, SeveralMarksMayLieInOneIteration) {
  Plan plan = plan_of(3);
  plan.inner_marks = {1};
  arena->pause();
  follow(plan);
  iterations.restart();
  request_all({kBlock});
  EXPECT_FALSE(mark());
  request_all({kBlock, kBlock});
  const std::optional<ServedIteration> ended = mark();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->requests, 3u);
}

TEST_F(ServedIterationsTest, LivesAreLearnedAtEachOfTheirMarks) {
  Plan plan = plan_of(3);
  plan.inner_marks = {1};
  arena->pause();
  follow(plan);
  iterations.restart();
  arena->allocator().improvise(true);
  for (const std::uint64_t missed : {1u, 0u}) {
    release(request(5000));
    request_all({kBlock});
    EXPECT_FALSE(mark());
    request_all({kBlock, kBlock});
    EXPECT_EQ(mark()->missed, missed);
  }
  EXPECT_EQ(arena->allocator().counts().improvised, 1u);
}

TEST_F(ServedIterationsTest, TheMostThatWasReservedTogetherIsOfOneIteration) {
  request_all({kBlock, kBlock, kBlock});
  mark();
  guard.note_reserved(Bytes(50 * kMib));
  request_all({kBlock, kBlock, kBlock});
  EXPECT_EQ(mark()->reserved, Bytes(50 * kMib) + arena->committed_bytes());
}

TEST_F(ServedIterationsTest, PeaksCountFromTheFirstOneOn) {
  guard.note_reserved(Bytes(80 * kMib));
  request_all({kBlock, kBlock, kBlock});
  mark();
  EXPECT_EQ(guard.reserved_after(), arena->committed_bytes());
}

TEST_F(ServedIterationsTest, FormerArenasGiveMemoryBack) {
  void* const old = request();
  arena->pause();
  follow(plan_of(4));
  iterations.restart();
  ASSERT_EQ(arena->owner_of(old)->live_bytes(), Bytes(kBlock));
  release(old);
  mark();
  EXPECT_EQ(arena->owner_of(old), nullptr);
}

}  // namespace
}  // namespace stowage::session
