#include "planner/placement/greedy/lift.h"

#include <gtest/gtest.h>

#include <limits>

#include "planner/placement/greedy/greedy.h"
#include "planner/placement/problem/validator.h"
#include "tests/planner/placement/problems.h"

namespace stowage::planner::placement {
namespace {

const Limits kUnlimited;
constexpr Race kAlone{std::numeric_limits<std::uint32_t>::max()};

/// All pieces lifted, as a solution of the problem.
Solution lifted(const Problem& problem, const std::vector<Offset>& were) {
  const Instance instance = build_instance(problem, 0, {});
  std::vector<std::uint64_t> offsets;
  for (const Piece& piece : instance.pieces) offsets.push_back(were[piece.item].value());
  WorkMeter meter(kUnlimited, std::numeric_limits<std::uint64_t>::max(), kAlone, 0);
  Draft draft;
  EXPECT_TRUE(lift(instance, offsets, meter, draft));
  Solution solution;
  solution.offsets.assign(problem.items.size(), Offset(0));
  for (std::size_t p = 0; p < offsets.size(); ++p)
    solution.offsets[instance.pieces[p].item] = Offset(draft.offsets[p]);
  solution.height = height_of(problem, solution.offsets);
  EXPECT_GE(solution.height, Bytes(draft.height));
  return solution;
}

Problem stack_of_three() {
  Problem problem;
  for (std::uint64_t i = 0; i < 3; ++i) {
    Item item;
    item.birth = i, item.death = i + 2, item.size = Bytes(10), item.alignment = Bytes(1);
    problem.items.push_back(item);
  }
  return problem;
}

TEST(Lift, WhatHasGrownLiftsWhatLiesOnItAndNothingElse) {
  Problem problem = stack_of_three();
  problem.items[0].size = Bytes(15);
  const std::vector<Offset> were{Offset(0), Offset(10), Offset(0)};
  EXPECT_EQ(lifted(problem, were).offsets, (std::vector{Offset(0), Offset(15), Offset(0)}));
}

TEST(Lift, WhatIsFreeBelowIsLeft) {
  const Problem problem = stack_of_three();
  const std::vector<Offset> were{Offset(0), Offset(32), Offset(7)};
  EXPECT_EQ(lifted(problem, were).offsets, were);
}

TEST(Lift, WhatWasNowhereComesToLieOnTop) {
  const Problem problem = stack_of_three();
  const std::vector<Offset> were{Offset(0), Offset(kOnTop), Offset(0)};
  EXPECT_EQ(lifted(problem, were).offsets, (std::vector{Offset(0), Offset(10), Offset(0)}));
}

TEST(Lift, ValidPlacementsStayWhereTheyAreAndChangedOnesAreValidAgain) {
  std::mt19937_64 random(8);
  for (std::uint32_t round = 0; round < 300; ++round) {
    Shape shape;
    shape.items = 1 + random() % 60;
    shape.horizon = 2 + random() % 40;
    shape.cyclic = (round & 1) != 0;
    shape.odd_alignment = (round & 2) != 0 ? 0.5 : 0;
    Problem problem = random_problem(shape, random);
    for (Item& item : problem.items) item.fixed.reset(), item.stream_class = 0;
    problem.regions.clear();
    GreedyOptions quick;
    quick.limits.work_limit = 100'000;
    const auto placed = place_greedily(problem, quick);
    ASSERT_TRUE(placed.ok());
    EXPECT_EQ(lifted(problem, placed->offsets).height, placed->height) << round;
    for (Item& item : problem.items) {
      if (random() % 4 == 0) item.size = item.size + Bytes(random() % 50);
    }
    const Status status = validate(problem, lifted(problem, placed->offsets));
    EXPECT_TRUE(status.ok()) << round << ": " << status.error().message;
    if (HasFailure()) return;
  }
}

TEST(Lift, AMeterThatIsOutStopsIt) {
  const Problem problem = stack_of_three();
  const Instance instance = build_instance(problem, 0, {});
  WorkMeter meter(kUnlimited, 5, kAlone, 0);
  Draft draft;
  EXPECT_FALSE(lift(instance, std::vector<std::uint64_t>{0, 10, 0}, meter, draft));
}

}  // namespace
}  // namespace stowage::planner::placement
