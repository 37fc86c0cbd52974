// Which kind of iteration comes next, from those that came.
#include "core/support/kind_history.h"

#include <gtest/gtest.h>

#include <string>

namespace stowage {
namespace {

/// How many of the letters but the first `known` were foretold.
std::size_t foretold(const std::string& kinds, std::size_t known) {
  KindHistory history;
  std::size_t right = 0;
  for (std::size_t i = 0; i + 1 < kinds.size(); ++i) {
    const std::uint32_t next = history.next_after(static_cast<std::uint32_t>(kinds[i] - 'a'));
    if (i + 1 >= known) right += static_cast<std::uint32_t>(kinds[i + 1] - 'a') == next ? 1 : 0;
  }
  return right;
}

std::string rounds(const std::string& one, std::size_t times) {
  std::string all;
  while (times-- > 0) all += one;
  return all;
}

TEST(KindHistory, WhatComesInTurnIsForetoldFromTheSecondRoundOn) {
  for (const char* const round :
       {"a", "ab", "aab", "aaaab", "aaabaac", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"}) {
    const std::string all = rounds(round, 30);
    const std::size_t known = 2 * std::string(round).size();
    EXPECT_EQ(foretold(all, known), all.size() - known) << round;
  }
}

TEST(KindHistory, WhatCameOnceIsNotForetoldAgain) {
  const std::string all = rounds("a", 40) + "b" + rounds("a", 200);
  EXPECT_GE(foretold(all, 42), all.size() - 43) << "but for the end of a run as long as the one before it";
}

TEST(KindHistory, WhatLiesLongestAgoIsForgotten) {
  KindHistory history;
  for (std::size_t i = 0; i < 3 * KindHistory::kMost; ++i) history.next_after(i % 3 == 2 ? 1 : 0);
  EXPECT_LE(history.kinds().size(), KindHistory::kMost);
  EXPECT_EQ(foretold(rounds("aab", KindHistory::kMost), 6), 3 * KindHistory::kMost - 6);
}

TEST(KindHistory, ThePlaceIsLostWhereWhatComesIsKnownOtherwise) {
  KindHistory history;
  for (const std::uint32_t kind : {0, 0, 1, 0, 0}) history.next_after(kind);
  history.append(1);
  EXPECT_EQ(history.next_after(0), 0u);
  EXPECT_EQ(history.next_after(0), 1u);
  EXPECT_EQ(history.followed_last(1), 0u);
  EXPECT_EQ(history.followed_last(7), 7u);
  history.clear();
  EXPECT_EQ(history.next_after(3), 3u);
}

}  // namespace
}  // namespace stowage
