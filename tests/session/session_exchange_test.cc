// Tensors that outstay their places in the plan: the plan moves to a new arena.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "session/planned/outstayed_watch.h"
#include "tests/session/caching_session.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kBlock = std::uint64_t{2} << 20;  // a segment of a small arena

TEST(OutstayedWatch, IsDueAfterSoManyIterationsInARow) {
  OutstayedWatch watch;
  std::uint64_t misses = 0;
  for (std::uint64_t i = 1; i < OutstayedWatch::kPatience; ++i) EXPECT_FALSE(watch.is_due(++misses)) << i;
  EXPECT_FALSE(watch.is_due(misses)) << "an iteration without begins the row anew";
  for (std::uint64_t i = 1; i < OutstayedWatch::kPatience; ++i) EXPECT_FALSE(watch.is_due(++misses)) << i;
  EXPECT_TRUE(watch.is_due(++misses));
}

TEST(OutstayedWatch, HasMorePatienceAfterAnExchangeInVain) {
  OutstayedWatch watch;
  std::uint64_t misses = 0;
  const auto iterations_until_due = [&] {
    for (std::uint64_t i = 1;; ++i) {
      if (watch.is_due(++misses)) return i;
    }
  };
  EXPECT_EQ(iterations_until_due(), OutstayedWatch::kPatience);
  EXPECT_EQ(iterations_until_due(), 2 * OutstayedWatch::kPatience);
  watch.restart();
  misses = 0;
  EXPECT_EQ(iterations_until_due(), 4 * OutstayedWatch::kPatience) << "a new arena was of no use";
  for (std::uint64_t i = 0; i < 8 * OutstayedWatch::kPatience; ++i) EXPECT_FALSE(watch.is_due(misses));
  EXPECT_EQ(iterations_until_due(), OutstayedWatch::kPatience) << "for long there was none";
  for (int i = 0; i < 20; ++i) iterations_until_due();
  EXPECT_EQ(iterations_until_due(), OutstayedWatch::kMostPatience);
}

struct ExchangeTest : CachingSessionTest {
  /// Twelve blocks of different sizes at once; number `kept`, if any, lives on. Within its mark, after
  /// `waits` questions, a graph's capture begins, which is over when that is.
  void iterate(int kept = -1, int waits = std::numeric_limits<int>::max()) {
    std::vector<void*> live;
    for (std::uint64_t i = 0; i < 12; ++i) live.push_back(job->allocate(kBlock + (i << 16)));
    for (int i = 0; i < 12; ++i) {
      if (i == kept)
        stays.push_back(live[static_cast<std::size_t>(i)]);
      else
        job->free(live[static_cast<std::size_t>(i)]);
    }
    port.waits_until_capture = waits;
    session->on_mark(MarkSource::kOptimizer);
    port.waits_until_capture = std::numeric_limits<int>::max();
  }
  /// Ends where a tensor has just been made that stays in its place.
  void plan_and_keep_one() {
    void* const much = job->allocate(4 * kBlock);  // so more was reserved once, which a few segments fit in
    iterate();
    job->free(much);
    for (int i = 0; i < 8 && session->state() != SessionState::kPlanned; ++i) iterate();
    ASSERT_EQ(session->state(), SessionState::kPlanned) << session->report_json();
    for (int i = 0; i < 6; ++i) iterate();
    ASSERT_EQ(misses(), 0u);
    arena = session->arena_bytes();
    iterate(/*kept=*/3);
  }
  std::uint64_t displaced() { return nlohmann::json::parse(session->report_json()).at("displaced"); }
  std::uint64_t misses() { return nlohmann::json::parse(session->report_json()).at("last_iteration_misses"); }

  std::vector<void*> stays;
  Bytes arena{0};  ///< before any stays
};

TEST_F(ExchangeTest, ThePlanLiesAroundATensorThatStaysInItsPlace) {
  plan_and_keep_one();
  iterate();
  EXPECT_GT(displaced(), 0u);
  for (std::uint64_t i = 0; i < 2 * OutstayedWatch::kPatience; ++i) iterate();
  EXPECT_EQ(session->state(), SessionState::kPlanned) << session->report_json();
  EXPECT_EQ(misses(), 0u) << session->report_json();
  EXPECT_TRUE(session->owns(stays[0])) << "where it lies it is the session's";
  EXPECT_GE(session->arena_bytes(), arena);
  EXPECT_LE(session->arena_bytes(), arena + Bytes(3 * kBlock));
  const std::uint64_t before = displaced();
  for (int i = 0; i < 20; ++i) iterate();
  EXPECT_EQ(displaced(), before) << "nothing is in its way any more";
  job->free(stays[0]);
}

TEST_F(ExchangeTest, ThePlanMovesLaterWhereACaptureBeginsInTheMarkThatItIsDueAt) {
  constexpr auto kPatience = static_cast<int>(OutstayedWatch::kPatience);
  for (int waits = 0; waits < 6; ++waits) {
    plan_and_keep_one();
    for (int i = 0; i <= kPatience; ++i) iterate(-1, waits);
    EXPECT_EQ(session->state(), SessionState::kPlanned) << "after " << waits << session->report_json();
    for (int i = 0; i < 3 * kPatience; ++i) {
      iterate();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the planner's thread had no turn yet
    }
    EXPECT_EQ(session->state(), SessionState::kPlanned) << "after " << waits << session->report_json();
    EXPECT_EQ(misses(), 0u) << "after " << waits << session->report_json();
    for (void* const address : std::exchange(stays, {})) job->free(address);
    restart({});
  }
}

TEST_F(ExchangeTest, ThePlanMovesWhileFreesOfUpstreamsBlocksWaitForOtherStreams) {
  plan_and_keep_one();
  iterate();
  ASSERT_GT(displaced(), 0u);
  void* const used = job->allocate(7 * kBlock);  // no plan knows it
  ASSERT_FALSE(session->record_stream(used, StreamId(1)));
  job->free(used);
  for (std::uint64_t i = 0; i < 2 * OutstayedWatch::kPatience; ++i) iterate();
  EXPECT_EQ(misses(), 0u) << session->report_json();
  job->free(stays[0]);
  iterate();
  EXPECT_LE(session->arena_bytes(), arena + Bytes(3 * kBlock));
}

}  // namespace
}  // namespace stowage::session
