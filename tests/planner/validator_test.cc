// Plants each kind of violation in valid solutions, hundreds of times, and expects it to be found and named.
#include "planner/placement/validator.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/placement/greedy.h"
#include "tests/planner/problems.h"

namespace stowage::planner::placement {
namespace {

constexpr int kPlantings = 300;

std::string complaint(const Problem& problem, const Solution& solution) {
  const Status status = validate(problem, solution);
  if (status.ok()) return "";
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidPlan);
  return status.error().message;
}

void refresh_height(const Problem& problem, Solution& solution) {
  solution.height = Bytes(0);
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    solution.height = std::max(solution.height, Bytes(solution.offsets[i].value()) + problem.items[i].size);
  }
  solution.lower_bound = Bytes(0);
  solution.proved_optimal = false;
}

/// Live at one time, by the definition.
bool meet(const Item& a, const Item& b, std::uint64_t period) {
  const auto at = [&](const Item& i, std::uint64_t t) {
    return (t >= i.birth && t < i.death) || (period != 0 && t + period >= i.birth && t + period < i.death);
  };
  for (std::uint64_t t = 0; t < 64; ++t) {
    if (at(a, t) && at(b, t)) return true;
  }
  return false;
}

class Mutation : public testing::Test {
 protected:
  /// A random valid solution; every third problem is cyclic, every second has two stream classes.
  void next() {
    Shape shape;
    shape.items = 12;
    shape.horizon = 20;
    shape.alignment = 4;
    shape.cyclic = round_ % 3 == 0;
    shape.classes = 1 + static_cast<std::uint32_t>(round_ % 2);
    problem_ = random_problem(shape, random_);
    solution_ = stacked(problem_);
    if (round_ % 5 == 0) {
      const auto placed = place_greedily(problem_, options_);
      ASSERT_TRUE(placed.ok());
      solution_ = *placed;
    }
    ++round_;
    ASSERT_EQ(complaint(problem_, solution_), "");
  }
  std::size_t any() { return random_() % problem_.items.size(); }

  std::mt19937_64 random_{5};
  GreedyOptions options_{{}, 1, false};
  int round_ = 0;
  Problem problem_;
  Solution solution_;
};

TEST_F(Mutation, OverlapInTimeAndSpaceIsFound) {
  int planted = 0;
  while (planted < kPlantings) {
    next();
    const std::size_t a = any(), b = any();
    Item& moved = problem_.items[a];
    const Item& still = problem_.items[b];
    if (a == b || !meet(moved, still, problem_.period)) continue;
    const std::uint64_t into = random_() % still.size.value() / 4 * 4;
    solution_.offsets[a] = Offset(solution_.offsets[b].value() + into);
    refresh_height(problem_, solution_);
    EXPECT_NE(complaint(problem_, solution_), "") << "round " << round_;
    ++planted;
  }
}

TEST_F(Mutation, SharedAddressesOfTwoStreamsAreFound) {
  int planted = 0;
  while (planted < kPlantings) {
    next();
    const std::size_t a = any(), b = any();
    if (problem_.items[a].stream_class == problem_.items[b].stream_class) continue;
    if (meet(problem_.items[a], problem_.items[b], problem_.period)) continue;
    // The stacked solution gives every item its own addresses, and the two then coincide: this is the only
    // fault.
    solution_ = stacked(problem_);
    problem_.items[a].size = problem_.items[b].size;
    solution_.offsets[a] = solution_.offsets[b];
    refresh_height(problem_, solution_);
    EXPECT_NE(complaint(problem_, solution_).find("different streams"), std::string::npos)
        << "round " << round_ << " " << complaint(problem_, solution_);
    ++planted;
  }
}

TEST_F(Mutation, MisalignmentIsFound) {
  for (int planted = 0; planted < kPlantings; ++planted) {
    next();
    Offset& offset = solution_.offsets[any()];
    offset = Offset(offset.value() + 1 + random_() % 3);
    refresh_height(problem_, solution_);
    EXPECT_NE(complaint(problem_, solution_).find("misaligned"), std::string::npos) << "round " << round_;
  }
}

TEST_F(Mutation, ADisregardedFixedOffsetIsFound) {
  for (int planted = 0; planted < kPlantings; ++planted) {
    next();
    const std::size_t a = any();
    problem_.items[a].fixed = Offset(solution_.offsets[a].value() + 4);
    EXPECT_NE(complaint(problem_, solution_).find("fixed"), std::string::npos) << "round " << round_;
  }
}

TEST_F(Mutation, AWrongHeightIsFound) {
  for (int planted = 0; planted < kPlantings; ++planted) {
    next();
    const std::uint64_t by = 1 + random_() % 9;
    solution_.height =
        Bytes(planted % 2 == 0 ? solution_.height.value() + by : solution_.height.value() - by);
    EXPECT_NE(complaint(problem_, solution_).find("height"), std::string::npos) << "round " << round_;
  }
}

TEST_F(Mutation, AFalseBoundOrProofIsFound) {
  for (int planted = 0; planted < kPlantings; ++planted) {
    next();
    solution_.lower_bound = solution_.height + Bytes(1 + random_() % 9);
    solution_.proved_optimal = false;
    EXPECT_NE(complaint(problem_, solution_).find("bound"), std::string::npos);
    solution_.lower_bound = solution_.height - Bytes(1);
    solution_.proved_optimal = true;
    EXPECT_NE(complaint(problem_, solution_).find("proof"), std::string::npos);
  }
}

TEST_F(Mutation, AMissingOffsetIsFound) {
  next();
  solution_.offsets.pop_back();
  EXPECT_NE(complaint(problem_, solution_), "");
}

TEST_F(Mutation, AProblemThatMakesNoSenseIsRejected) {
  for (int planted = 0; planted < kPlantings; ++planted) {
    next();
    Item& item = problem_.items[any()];
    item.death = item.birth;
    item.birth += 1;
    EXPECT_NE(complaint(problem_, solution_), "");
  }
}

// The validator against the definition: random offsets, most of them wrong.
TEST_F(Mutation, AgreesWithComparingAllPairs) {
  int valid = 0;
  for (int round = 0; round < 3000; ++round) {
    Shape shape;
    shape.items = 2 + random_() % 4;
    shape.cyclic = round % 2 == 0;
    shape.classes = 1 + static_cast<std::uint32_t>(round % 3 == 0);
    shape.max_size = 5;
    shape.empty = 0.1;
    problem_ = random_problem(shape, random_);
    solution_.offsets.clear();
    for (std::size_t i = 0; i < problem_.items.size(); ++i) solution_.offsets.emplace_back(random_() % 16);
    refresh_height(problem_, solution_);
    bool good = true;
    for (std::size_t a = 0; a < problem_.items.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const Item& x = problem_.items[a];
        const Item& y = problem_.items[b];
        if (x.birth == x.death || y.birth == y.death) continue;
        const std::uint64_t p = solution_.offsets[a].value(), q = solution_.offsets[b].value();
        const bool share =
            p < q + y.size.value() && q < p + x.size.value() && x.size > Bytes(0) && y.size > Bytes(0);
        if (share && (x.stream_class != y.stream_class || meet(x, y, problem_.period))) good = false;
      }
    }
    EXPECT_EQ(complaint(problem_, solution_).empty(), good) << "round " << round;
    valid += good;
  }
  EXPECT_GT(valid, 300);  // both answers are really tried
  EXPECT_LT(valid, 2700);
}

}  // namespace
}  // namespace stowage::planner::placement
