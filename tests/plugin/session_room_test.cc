// Memory passes between upstream and the arena, and both together never hold more than the job was seen to
// need without a plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/plugin/caching_session.h"

namespace stowage::plugin {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
constexpr std::uint64_t kBlock = 2 * kMib;  // a segment of a small arena

struct RoomTest : CachingSessionTest {
  void* allocate(std::uint64_t bytes) {
    void* const address = job->allocate(bytes);
    highest = std::max(highest, session->arena_bytes() + port.upstream_use().reserved);
    return address;
  }
  /// Twelve blocks at once; one of them, another each time, lives on into the next iteration.
  void iterate() {
    std::vector<void*> live;
    for (int i = 0; i < 12; ++i) live.push_back(allocate(kBlock));
    if (gradient != nullptr) job->free(gradient);
    gradient = live.back();
    live.pop_back();
    for (void* address : live) job->free(address);
    session->on_mark(MarkSource::kOptimizer);
  }
  /// What the plan does not know: `count` blocks of `bytes`, all alive at once.
  void evaluate(int count, std::uint64_t bytes) {
    std::vector<void*> live;
    for (int i = 0; i < count; ++i) live.push_back(allocate(bytes));
    for (void* address : live) job->free(address);
  }
  void plan() {
    for (int i = 0; i < 8 && session->state() != SessionState::kPlanned; ++i) iterate();
    ASSERT_EQ(session->state(), SessionState::kPlanned) << session->report_json();
  }

  void* gradient = nullptr;
  Bytes highest{0};
};

TEST_F(RoomTest, AtTheSwitchBothTogetherHoldNoMoreThanBefore) {
  iterate();
  iterate();
  const Bytes before = highest;
  plan();
  EXPECT_EQ(session->arena_bytes(), Bytes(0)) << "an arena begins without memory";
  for (int i = 0; i < 6; ++i) iterate();
  EXPECT_GE(session->arena_bytes(), Bytes(12 * kBlock)) << "the plan serves";
  EXPECT_LE(highest, before + Bytes(kBlock));
}

TEST_F(RoomTest, TheIdleArenaMakesWayForAnEvaluationAndComesBack) {
  iterate();
  evaluate(8, 3 * kMib);
  const Bytes before = highest;
  plan();
  for (int i = 0; i < 4; ++i) iterate();
  const Bytes arena = session->arena_bytes();
  evaluate(8, 3 * kMib + 512);
  EXPECT_LT(session->arena_bytes(), arena);
  for (int i = 0; i < 2; ++i) iterate();
  EXPECT_EQ(session->arena_bytes(), arena);
  EXPECT_EQ(session->state(), SessionState::kPlanned);
  EXPECT_LE(highest, before + Bytes(2 * kBlock));
}

TEST_F(RoomTest, AJobThatWouldExchangeMemoryAllTheTimeLeavesItsPlan) {
  plan();
  int iterations = 0;
  while (session->state() == SessionState::kPlanned && iterations < 40) {
    evaluate(8, 3 * kMib + 512u * static_cast<std::uint64_t>(++iterations));
    iterate();
  }
  EXPECT_GT(iterations, 3);
  EXPECT_LT(iterations, 40);
}

}  // namespace
}  // namespace stowage::plugin
