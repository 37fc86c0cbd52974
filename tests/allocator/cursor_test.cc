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
    if (round > 0) {
      EXPECT_EQ(foretold(history), 1u) << "round " << round;
    }
    history.push_back(1);
    EXPECT_EQ(foretold(history), 0u);
  }
}

TEST(Cursor, KindsInTurnAreForetoldInTurn) {
  EXPECT_EQ(foretold({0, 1, 0, 1, 0}), 1u);
  EXPECT_EQ(foretold({0, 1, 0, 1, 0, 1}), 0u);
}

TEST(Cursor, TwinsTakeTurnsWhateverComesBetween) {
  std::vector<Plan> plans = train_and_evaluate();
  plans.insert(plans.begin() + 1, plans.front());
  Cursor cursor(plans);
  EXPECT_EQ(cursor.position().plan, 0u);
  std::vector<std::uint32_t> came;
  for (int i = 0; i < 9; ++i) {
    const std::uint32_t plan = i % 3 == 2 ? 2 : cursor.position().plan;
    if (plan == 2) cursor.find({512 * 5, 0});
    came.push_back(cursor.position().plan);
    cursor.advance_to(static_cast<std::uint32_t>(plans[cursor.position().plan].entries.size()));
    cursor.mark();
  }
  std::erase(came, 2u);
  for (std::size_t i = 1; i < came.size(); ++i) EXPECT_NE(came[i], came[i - 1]) << i;
}

TEST(Cursor, AWrongTurnIsCorrectedOnceAnIteration) {
  std::vector<Plan> plans = train_and_evaluate();
  plans.insert(plans.begin() + 1, plans.front());
  Cursor cursor(plans);
  cursor.advance_to(2);
  ASSERT_TRUE(cursor.may_follow(1, {0, 1}));
  cursor.follow(1);
  cursor.advance_to(3);
  EXPECT_FALSE(cursor.may_follow(0, {1, 2})) << "it stays with the other one";
  cursor.advance_to(4);
  cursor.mark();
  EXPECT_EQ(cursor.position().plan, 0u);
  cursor.advance_to(1);
  EXPECT_TRUE(cursor.may_follow(1, {0, 0}));
}

TEST(Cursor, WhatWasCutShortIsBegunAgainByItsOwnPlanOrItsTwin) {
  for (const bool twins : {false, true}) {
    std::vector<Plan> plans = train_and_evaluate();
    if (twins) plans.push_back(plans.back());
    Cursor cursor(plans);
    cursor.foresee({0, 1, 0, 1, 0});
    const std::uint32_t begun = cursor.position().plan;
    ASSERT_NE(begun, 0u) << "which was used last";
    cursor.advance_to(4);
    const std::optional<Position> again = cursor.find({512, 0});
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, (Position{twins ? 3 - begun : begun, 0}));
  }
}

TEST(Cursor, WhatFollowsThePresentIterationIsKnownBeforeItEnds) {
  Cursor cursor(train_and_evaluate());
  EXPECT_EQ(cursor.likely_next(), 0u) << "nothing is known";
  cursor.foresee({0, 0, 1, 0, 0, 1});
  for (const std::uint32_t next : {0u, 1u, 0u, 0u}) {
    EXPECT_EQ(cursor.likely_next(), next);
    cursor.advance_to(cursor.position().plan == 0 ? 4 : 5);
    cursor.mark();
    EXPECT_EQ(cursor.position().plan, next);
  }
  cursor.foresee({0});
  cursor.expect({0, 1});
  EXPECT_EQ(cursor.likely_next(), 1u) << "it was told";
}

TEST(Cursor, ATwinIsFollowedByTheOther) {
  std::vector<Plan> plans = train_and_evaluate();
  plans.insert(plans.begin() + 1, plans.front());
  Cursor cursor(plans);
  EXPECT_EQ(cursor.likely_next(), 1u);
}

TEST(Cursor, WhatIsToldToComeIsExpected) {
  Cursor cursor(train_and_evaluate());
  cursor.foresee({0, 0, 0});
  cursor.expect({1, 1, 0});
  EXPECT_EQ(cursor.position().plan, 1u);
  cursor.advance_to(5);
  cursor.mark();
  EXPECT_EQ(cursor.position().plan, 1u);
}

}  // namespace
}  // namespace stowage::allocator
