// Which plan a job's next iteration is foretold to follow.
#include "allocator/cursor.h"

#include <gtest/gtest.h>

namespace stowage::allocator {
namespace {

/// Two kinds of iterations that begin alike.
std::vector<Plan> train_and_evaluate() {
  std::vector<Plan> plans(2);
  for (std::uint32_t plan = 0; plan < 2; ++plan) {
    for (std::uint64_t i = 1; i <= 4 + plan; ++i)
      plans[plan].entries.push_back({Bytes(512 * i), StreamId(0), Offset(512 * i), kUpstream});
    plans[plan].height = Bytes(8192);
  }
  return plans;
}

std::uint32_t foretold(const std::vector<std::uint32_t>& history) {
  Cursor cursor(train_and_evaluate());
  cursor.foresee(history);
  return cursor.position().plan;
}

std::vector<std::uint32_t> training(std::size_t times) { return std::vector<std::uint32_t>(times, 0); }

TEST(Cursor, WhatCameOnceAfterManyOthersIsNotForetoldAfterEachOfThem) {
  for (std::size_t since = 1; since < 18; ++since) {
    std::vector<std::uint32_t> history = training(20);
    history.push_back(1);
    history.resize(history.size() + since, 0);
    EXPECT_EQ(foretold(history), 0u) << since << " iterations after the evaluation";
  }
}

TEST(Cursor, WhatComesAtAnIntervalIsForetoldFromItsSecondRoundOn) {
  std::vector<std::uint32_t> history;
  for (int round = 0; round < 3; ++round) {
    history.resize(history.size() + 6, 0);
    if (round > 0) EXPECT_EQ(foretold(history), 1u) << "round " << round;
    history.push_back(1);
    EXPECT_EQ(foretold(history), 0u);
  }
}

TEST(Cursor, KindsInTurnAreForetoldInTurn) {
  EXPECT_EQ(foretold({0, 1, 0, 1, 0}), 1u);
  EXPECT_EQ(foretold({0, 1, 0, 1, 0, 1}), 0u);
}

}  // namespace
}  // namespace stowage::allocator
