// The height of an iteration's arena, of what is left behind and dropped in the next one too.
#include "planner/schedule/model/arena_height.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kUnit = 512;

std::uint64_t height(const std::vector<Span>& spans) {
  const Result<std::uint64_t> found = arena_height(spans, 0, {});
  EXPECT_TRUE(found.ok());
  return found.ok() ? *found / kUnit : 0;
}

Span made(std::uint64_t begin, std::uint64_t end, std::uint64_t units) {
  return {.begin = begin, .end = end, .bytes = units * kUnit};
}
Span left(std::uint64_t begin, std::uint64_t units, std::uint32_t buffer = kNoBuffer) {
  return {.begin = begin, .bytes = units * kUnit, .buffer = buffer};
}
Span dropped(std::uint64_t end, std::uint64_t units, std::uint32_t buffer = kNoBuffer) {
  return {.end = end, .bytes = units * kUnit, .from_before = true, .buffer = buffer};
}
Span stays(std::uint64_t units) { return {.bytes = units * kUnit, .from_before = true}; }

TEST(ArenaHeight, WhatStaysIsBesideTheRest) {
  EXPECT_EQ(height({stays(3)}), 3u);
  EXPECT_EQ(height({stays(3), made(0, 4, 2), made(4, 8, 2)}), 5u);
}

TEST(ArenaHeight, WhatIsLeftBehindHasOnePlaceOverTheBoundary) {
  EXPECT_EQ(height({dropped(1, 2), left(6, 2)}), 2u);
  EXPECT_EQ(height({dropped(3, 2), left(2, 2)}), 4u) << "both are there at a time";
  EXPECT_EQ(height({dropped(1, 2), made(1, 6, 2), left(6, 2)}), 2u);
}

// Two live over the boundary. Of a line of time each end could have its own order of places; on the circle
// what fits between them must fit at both.
TEST(ArenaHeight, BothEndsOfOneAreAtTheSamePlace) {
  const std::vector<Span> crossed = {dropped(1, 1, 7), dropped(4, 2, 8), left(5, 1, 7), left(9, 2, 8),
                                     made(1, 5, 1)};
  EXPECT_EQ(height(crossed), 3u);
}

TEST(ArenaHeight, OnesEndsAreFoundByTheBufferBeforeTheSize) {
  // By size alone the one that is dropped first would be the one that is left behind first.
  const std::vector<Span> known = {dropped(1, 1, 7), dropped(8, 1, 8), left(9, 1, 7), left(10, 1, 8)};
  EXPECT_EQ(height(known), 2u);
  const std::vector<Span> kept_long = {dropped(1, 1, 7), dropped(6, 1, 8), left(3, 1, 7),
                                       left(8, 1, 8),    made(1, 3, 1),    made(6, 8, 1)};
  EXPECT_EQ(height(kept_long), 2u);
}

TEST(ArenaHeight, WhatHasNoSuccessorCountsWhileItIsThere) {
  EXPECT_EQ(height({dropped(4, 2), made(4, 8, 2)}), 2u);
  EXPECT_EQ(height({left(4, 2), made(0, 4, 2)}), 2u);
}

}  // namespace
}  // namespace stowage::planner::schedule
