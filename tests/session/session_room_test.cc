// Memory passes between upstream and the arena, and both together never hold more than the job was seen to
// need without a plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tests/session/caching_session.h"
#include "tests/session/changed_plans.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
constexpr std::uint64_t kBlock = 2 * kMib;  // a segment of a small arena

// What a plan places at the bottom of the arena lies at its top.
void mirror(Plan& plan) {
  for (PlanEntry& entry : plan.entries) {
    if (entry.offset != kUpstream)
      entry.offset = Offset((plan.height - entry.rounded).value() - entry.offset.value());
  }
}

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
  /// Blocks that lie between one another, freed in `pieces`; then one that fits none of them.
  void outgrow_pieces() {
    evaluate(8, kBlock);
    port.piece = Bytes(kBlock);
    job->free(allocate(8 * kMib));
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

TEST_F(RoomTest, EvaluationsOfOtherSizesBorrowTheIdleArena) {
  plan();
  for (int i = 0; i < 20; ++i) {
    evaluate(4, 3 * kMib + 512u * static_cast<std::uint64_t>(i));
    iterate();
  }
  EXPECT_EQ(session->state(), SessionState::kPlanned);
  EXPECT_LE(nlohmann::json::parse(session->report_json())["misses"]["unexpected"], 8)
      << "those of the first one";
}

TEST_F(RoomTest, AJobThatWouldExchangeMemoryAllTheTimeLeavesItsPlan) {
  plan();
  evaluate(1, 3 * kMib);
  void* const stays = allocate(3 * kMib);  // so that others of this size borrow nothing
  iterate();
  job->free(stays);
  int iterations = 0;
  while (session->state() == SessionState::kPlanned && iterations < 40) {
    evaluate(8, 3 * kMib + 512u * static_cast<std::uint64_t>(++iterations));
    iterate();
  }
  EXPECT_GT(iterations, 3);
  EXPECT_LT(iterations, 40);
}

TEST_F(RoomTest, WhatTheLastEvaluationTookOfTheArenaIsNotAddedToWhatItStillHolds) {
  restart({}, std::make_unique<ChangedPlans>(mirror));
  std::vector<void*> kept;
  const auto iterate_top_first = [&] {
    std::vector<void*> live;
    for (int i = 0; i < 3; ++i) live.push_back(allocate(kBlock));
    for (void* address : std::exchange(kept, {})) job->free(address);
    for (int i = 0; i < 6; ++i) live.push_back(allocate(2 * kBlock));
    for (void* address : live) job->free(address);
    session->on_mark(MarkSource::kOptimizer);
  };
  for (int i = 0; i < 12; ++i) iterate_top_first();
  ASSERT_EQ(session->arena_bytes(), Bytes(15 * kBlock)) << session->report_json();
  const Bytes before = highest;
  for (int i = 0; i < 3; ++i) kept.push_back(allocate(kBlock + 512));
  session->on_mark(MarkSource::kOptimizer);
  ASSERT_LE(session->arena_bytes(), Bytes(12 * kBlock)) << "its top made way";
  iterate_top_first();
  EXPECT_LE(highest, before + Bytes(kBlock));
}

TEST_F(RoomTest, WhileRecordingWhatIsCachedInPiecesGoesBeforeANewPeak) {
  outgrow_pieces();
  EXPECT_EQ(port.releases, 1);
  EXPECT_EQ(highest, Bytes(8 * kBlock)) << "16 MiB in pieces, and 8 MiB instead of them";
}

TEST_F(RoomTest, WhileAGraphIsCapturedNothingIsReleasedForThat) {
  port.capturing = true;
  outgrow_pieces();
  EXPECT_EQ(port.releases, 0);
}

TEST_F(RoomTest, WhatFitsBelowThePeakReleasesNothing) {
  job->free(allocate(64 * kMib));
  port.release_upstream_cache();
  outgrow_pieces();
  EXPECT_EQ(port.releases, 1) << "the test's own";
}

TEST_F(RoomTest, AJobThatIsLeftAloneGetsTheArenasMemoryBack) {
  Settings settings;
  settings.max_replans = 0;
  settings.online = false;
  restart(settings);
  plan();
  for (int i = 0; i < 4; ++i) iterate();
  ASSERT_GE(session->arena_bytes(), Bytes(12 * kBlock));
  for (int i = 0; i < 40 && session->state() != SessionState::kOff; ++i) {
    evaluate(40, kBlock + 512u * static_cast<std::uint64_t>(i));
    session->on_mark(MarkSource::kOptimizer);
  }
  ASSERT_EQ(session->state(), SessionState::kOff);
  EXPECT_LE(session->arena_bytes(), Bytes(2 * kBlock)) << "a gradient lives in it";
}

}  // namespace
}  // namespace stowage::session
