// When storages are used, and when room is needed, foreseen from the iteration before.
#include <gtest/gtest.h>

#include "recompute/storage/made_uses.h"
#include "recompute/storage/room_needs.h"
#include "recompute/storage/use_times.h"

namespace stowage::recompute {
namespace {

TEST(UseTimes, TheNextUseIsWhereItWasInTheIterationBefore) {
  UseTimes times;
  EXPECT_EQ(times.until_next({0, 5, 0}), std::nullopt);
  for (const std::uint64_t op : {10, 40, 40, 90}) times.note({0, op, 0});
  EXPECT_EQ(times.until_next({0, 50, 0}), std::nullopt) << "its first iteration is not over";
  EXPECT_EQ(times.until_next({1, 0, 100}), 10u);
  EXPECT_EQ(times.until_next({1, 10, 100}), 30u);
  times.note({1, 12, 100});  // the ops shift a little
  EXPECT_EQ(times.until_next({1, 12, 100}), 28u);
  EXPECT_EQ(times.until_next({1, 95, 100}), 15u);
  EXPECT_EQ(times.until_next({1, 120, 100}), 10u) << "this iteration is longer than the one before";
  EXPECT_EQ(times.until_next({2, 0, 120}), 12u);
}

TEST(UseTimes, OfVeryManyUsesTheFirstCount) {
  UseTimes times;
  for (std::uint64_t op = 0; op < 1000; ++op) times.note({0, op, 0});
  EXPECT_EQ(times.until_next({1, 100, 1000}), 1u);
  EXPECT_EQ(times.until_next({1, 900, 1000}), 100u);
}

TEST(MadeUses, FindsTheNextUseOfTheStorageOfTheSameOrderAndSize) {
  MadeUses uses;
  uses.note(0, 512, 1);
  uses.note(2, 1024, 2);
  uses.note(0, 512, 5);
  uses.note(2, 1024, 9);
  uses.note(0, 512, 9);
  EXPECT_TRUE(uses.knows(0, 512));
  EXPECT_FALSE(uses.knows(0, 1024)) << "another size: another storage";
  EXPECT_FALSE(uses.knows(1, 512)) << "no op used it";
  EXPECT_FALSE(uses.knows(3, 512));
  EXPECT_EQ(uses.next_after(0, 0), 1u);
  EXPECT_EQ(uses.next_after(0, 1), 5u);
  EXPECT_EQ(uses.next_after(0, 5), 9u);
  EXPECT_EQ(uses.next_after(0, 9), std::nullopt);
  EXPECT_EQ(uses.next_after(2, 3), 9u);
  uses.clear();
  EXPECT_FALSE(uses.knows(0, 512));
}

TEST(RoomNeeds, CountsOpsWhereNothingIsKnown) {
  RoomNeeds needs;
  EXPECT_EQ(needs.between(10, 50), 40);
  needs.end_iteration(100);
  EXPECT_EQ(needs.between(10, 50), 40) << "no room was needed";
}

TEST(RoomNeeds, CountsWhereRoomWasNeeded) {
  RoomNeeds needs;
  needs.note(40, 1000);
  needs.note(59, 3000);
  needs.end_iteration(100);
  constexpr double kEighth = 1.0 / 8;  // of the ops counts in any case
  EXPECT_EQ(needs.between(0, 100), 100 + 100 * kEighth);
  EXPECT_EQ(needs.between(0, 50), 25 + 50 * kEighth);
  EXPECT_EQ(needs.between(50, 60), 75 + 10 * kEighth);
  EXPECT_EQ(needs.between(60, 100), 40 * kEighth) << "what is away behind the peak serves nobody";
  EXPECT_GT(needs.between(60, 100), needs.between(70, 100)) << "the longer, if as much is needed";
  EXPECT_EQ(needs.between(50, 500), 75 + 450 * kEighth) << "this iteration is longer";
}

TEST(RoomNeeds, EvenNeedsAreOps) {
  RoomNeeds needs;
  for (std::uint64_t op = 0; op < 200; ++op) needs.note(op, 512);
  needs.end_iteration(200);
  EXPECT_EQ(needs.between(20, 120), 100 * (1 + 1.0 / 8));
}

TEST(RoomNeeds, LearnsFromTheFirstIterationsThatNeedRoomUntilToldOtherwise) {
  RoomNeeds needs;
  const auto iterate = [&](std::uint64_t op) {
    needs.note(op, 1024);
    needs.end_iteration(100);
  };
  for (int iteration = 0; iteration < 8; ++iteration) needs.end_iteration(100);  // nothing is needed
  for (int iteration = 0; iteration < 4; ++iteration) iterate(10);
  const double learned = needs.between(0, 50);
  EXPECT_GT(learned, 99);
  for (int iteration = 0; iteration < 12; ++iteration) iterate(80);
  EXPECT_EQ(needs.between(0, 50), learned) << "steady iterations choose the same";
  needs.learn_again();
  for (int iteration = 0; iteration < 4; ++iteration) iterate(80);
  EXPECT_LT(needs.between(0, 50), 15);
  EXPECT_GT(needs.between(50, 100), 90);
}

}  // namespace
}  // namespace stowage::recompute
