#include "planner/placement/problem/problem.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/planner/placement/problems.h"

namespace stowage::planner::placement {
namespace {

Item item(std::uint64_t birth, std::uint64_t death, std::uint64_t size, std::uint32_t stream_class = 0) {
  Item made;
  made.birth = birth;
  made.death = death;
  made.size = Bytes(size);
  made.alignment = Bytes(1);
  made.stream_class = stream_class;
  return made;
}

TEST(LowerBound, HalfOpenLivesDoNotMeet) {
  EXPECT_EQ(lower_bound({{item(0, 3, 10), item(3, 5, 7)}, 0}), Bytes(10));
  EXPECT_EQ(lower_bound({{item(0, 4, 10), item(3, 5, 7)}, 0}), Bytes(17));
}

TEST(LowerBound, WrappedLivesCountOnBothSides) {
  // 5 bytes live in [8, 10) and [0, 3); they meet both others.
  EXPECT_EQ(lower_bound({{item(8, 13, 5), item(0, 1, 7), item(9, 10, 2)}, 10}), Bytes(12));
  EXPECT_EQ(lower_bound({{item(8, 13, 5), item(3, 8, 7)}, 10}), Bytes(7));
}

TEST(LowerBound, StreamClassesAddUp) {
  EXPECT_EQ(lower_bound({{item(0, 1, 10, 0), item(5, 6, 7, 9)}, 0}), Bytes(17));
}

TEST(LowerBound, FixedAndEmptyItemsCount) {
  Problem problem{{item(0, 1, 10)}, 0};
  problem.items[0].fixed = Offset(90);
  EXPECT_EQ(lower_bound(problem), Bytes(100));
  EXPECT_EQ(lower_bound({{item(4, 4, 33), item(0, 9, 0)}, 0}), Bytes(33));
  EXPECT_EQ(lower_bound({}), Bytes(0));
}

/// Counts live bytes at every time of the circle.
std::uint64_t live_by_counting(const Problem& problem, std::uint64_t horizon) {
  std::uint64_t most = 0;
  for (std::uint64_t t = 0; t < horizon; ++t) {
    std::uint64_t live = 0;
    for (const Item& i : problem.items) {
      const bool later = t >= i.birth && t < i.death;
      const bool wrapped =
          problem.period != 0 && t + problem.period >= i.birth && t + problem.period < i.death;
      if (later || wrapped) live += i.size.value();
    }
    most = std::max(most, live);
  }
  return most;
}

TEST(LowerBound, AgreesWithCountingEveryTime) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 500; ++round) {
    Shape shape;
    shape.cyclic = round % 2 == 0;
    shape.empty = 0.1;
    const Problem problem = random_problem(shape, random);
    EXPECT_EQ(max_live(problem, 0).value(), live_by_counting(problem, shape.horizon)) << "round " << round;
  }
}

TEST(CheckProblem, NamesWhatIsWrong) {
  const auto message = [](const Problem& problem) {
    const Status status = check_problem(problem);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(message({{item(0, 3, 10)}, 0}), "");
  EXPECT_NE(message({{item(0, 3, 10), item(5, 3, 1)}, 0}).find("item 1 dies before"), std::string::npos);
  EXPECT_NE(message({{item(5, 6, 1)}, 5}).find("outside the period"), std::string::npos);
  EXPECT_NE(message({{item(1, 7, 1)}, 5}).find("longer than the period"), std::string::npos);
  EXPECT_NE(message({{item(0, 1, std::uint64_t{1} << 62)}, 0}).find("2^62"), std::string::npos);
  EXPECT_NE(message({{item(0, 1, ~std::uint64_t{0}), item(0, 1, ~std::uint64_t{0})}, 0}).find("2^62"),
            std::string::npos);
  Problem problem{{item(0, 3, 10)}, 0};
  problem.items[0].alignment = Bytes(0);
  EXPECT_NE(message(problem).find("alignment 0"), std::string::npos);
  problem.items[0].alignment = Bytes(8);
  problem.items[0].fixed = Offset(4);
  EXPECT_NE(message(problem).find("not a multiple"), std::string::npos);
}

}  // namespace
}  // namespace stowage::planner::placement
