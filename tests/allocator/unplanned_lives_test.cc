// How long requests lived that no plan knows says what the next ones may borrow.
#include "allocator/unplanned_lives.h"

#include <gtest/gtest.h>

namespace stowage::allocator {
namespace {

using Life = UnplannedLives::Life;

constexpr Bytes kSize{1 << 20}, kPlanned{64 << 10};

/// A window of requests: unplanned ones of the sizes given, kPlanned elsewhere.
struct Window {
  std::vector<RequestLife> lives;
  void add(Bytes size, std::uint32_t meanwhile, bool lasted = false) {
    lives.push_back({size, StreamId(0), lasted, meanwhile});
  }
};

struct UnplannedLivesTest : testing::Test {
  UnplannedLives lives;

  /// Returns what the last unplanned request was taken for.
  Life pass(const Window& window, std::size_t more_recorded = 0) {
    Life last = Life::kUnknown;
    for (std::size_t i = 0; i < window.lives.size(); ++i) {
      if (window.lives[i].rounded != kPlanned) last = lives.of(window.lives[i].rounded, i);
    }
    lives.on_mark(window.lives.size());
    std::vector<RequestLife> recorded = window.lives;
    recorded.resize(recorded.size() + more_recorded, {kPlanned, StreamId(0), false, 0});
    lives.learn(recorded, {});
    return last;
  }
  Life next(Bytes size = kSize) { return lives.of(size, 1'000'000); }
};

TEST_F(UnplannedLivesTest, FreedBeforeThePlanGoesOnIsBrief) {
  Window evaluation;
  evaluation.add(kPlanned, 0);
  evaluation.add(kSize, 1);  // freed when the next one is there
  evaluation.add(kSize, 0);
  evaluation.add(kPlanned, 0);
  EXPECT_EQ(pass(evaluation), Life::kUnknown);
  EXPECT_EQ(pass(evaluation), Life::kBrief);
}

TEST_F(UnplannedLivesTest, FreedLaterIsShort) {
  Window one;
  one.add(kSize, 1);
  one.add(kSize, 1);  // still there when the plan goes on
  one.add(kPlanned, 0);
  pass(one);
  EXPECT_EQ(next(), Life::kShort);
}

TEST_F(UnplannedLivesTest, TheLongestLifeCounts) {
  Window brief, lasting;
  brief.add(kSize, 0);
  lasting.add(kSize, 0, true);
  pass(brief);
  EXPECT_EQ(pass(lasting), Life::kBrief);
  pass(brief);
  EXPECT_EQ(next(), Life::kLasting);
}

TEST_F(UnplannedLivesTest, NoneIsBriefWhereOtherRequestsWereRecorded) {
  Window brief;
  brief.add(kSize, 0);
  pass(brief, /*more_recorded=*/1);
  EXPECT_EQ(next(), Life::kShort);
}

TEST_F(UnplannedLivesTest, ANewSizeIsLikeThoseWithinAnOctave) {
  Window brief;
  brief.add(kSize, 0);
  pass(brief);
  EXPECT_EQ(next(Bytes(kSize.value() / 2)), Life::kBrief);
  EXPECT_EQ(next(Bytes(kSize.value() * 2)), Life::kBrief);
  EXPECT_EQ(next(Bytes(kSize.value() * 4)), Life::kUnknown);
}

TEST_F(UnplannedLivesTest, ANewSizeIsUnknownWhereOneBesideItLived) {
  Window window;
  window.add(kSize, 0);
  window.add(Bytes(kSize.value() * 3 / 2), 1);
  window.add(kPlanned, 0);
  pass(window);
  EXPECT_EQ(next(Bytes(kSize.value() * 5 / 4)), Life::kUnknown);
  EXPECT_EQ(next(kSize), Life::kBrief);
}

TEST_F(UnplannedLivesTest, ManyRunsInOneWindowTeachNoBriefLives) {
  Window window;
  for (int i = 0; i < 3000; ++i) window.add(i % 2 == 0 ? kSize : kPlanned, 0);
  pass(window);
  EXPECT_EQ(next(), Life::kShort);
}

TEST_F(UnplannedLivesTest, EachWindowHasItsOwnOrdinals) {
  Window first, second;
  for (int i = 0; i < 5; ++i) first.add(kPlanned, 0);
  first.add(kSize, 0);
  second.add(kSize, 0);
  second.add(kPlanned, 0);
  pass(first);
  EXPECT_EQ(pass(second), Life::kBrief);
  EXPECT_EQ(next(), Life::kBrief);
}

TEST_F(UnplannedLivesTest, AWindowThatWasNotRecordedTeachesNothing) {
  lives.of(kSize, 0);
  lives.on_mark(1);
  Window other;
  other.add(Bytes(kSize.value() * 16), 0);
  pass(other);
  EXPECT_EQ(next(), Life::kUnknown);
}

}  // namespace
}  // namespace stowage::allocator
