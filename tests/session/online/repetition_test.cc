#include <gtest/gtest.h>

#include "session/online/repetition.h"

namespace stowage::session {
namespace {

/// Iterations of the kinds `first`, `first` + 1, … in turn until it repeats itself, at most `most`.
int until_it_repeats(Repetition& repetition, int most, std::uint64_t first, std::uint64_t kinds,
                     std::uint64_t allowed = 8) {
  for (int i = 1; i <= most; ++i) {
    if (repetition.on_iteration(first + static_cast<std::uint64_t>(i) % kinds, allowed)) return i;
  }
  return most + 1;
}

TEST(Repetition, ComesAgainAfterEightIterationsThatCameBefore) {
  Repetition repetition;
  EXPECT_EQ(until_it_repeats(repetition, 100, 1000, 1000), 101);
  EXPECT_EQ(until_it_repeats(repetition, 100, 1, 1), 8);
}

TEST(Repetition, SeveralKindsMayTakeTurns) {
  Repetition repetition;
  EXPECT_EQ(until_it_repeats(repetition, 100, 1000, 1000), 101);
  EXPECT_EQ(until_it_repeats(repetition, 100, 1, 4), 8);
}

TEST(Repetition, TooManyKindsAreNoRepetition) {
  Repetition repetition;
  EXPECT_EQ(until_it_repeats(repetition, 500, 1, 8, 3), 501);
}

TEST(Repetition, RestsForTwiceAsLongEachTime) {
  Repetition repetition;
  EXPECT_EQ(until_it_repeats(repetition, 1000, 1, 1), 16);
  EXPECT_EQ(until_it_repeats(repetition, 1000, 1, 1), 32);
  repetition.restart();
  EXPECT_EQ(until_it_repeats(repetition, 1000, 1, 1), 64);
}

}  // namespace
}  // namespace stowage::session
