// Plants each kind of violation in valid solutions, hundreds of times, and expects it to be found and named.
#include "planner/placement/problem/validator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "planner/placement/greedy/greedy.h"
#include "tests/planner/placement/problems.h"

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

/// A time at which both items use bytes, by the definition.
std::optional<std::uint64_t> meeting(const Problem& problem, std::size_t a, std::size_t b) {
  for (std::uint64_t t = 0; t < 64; ++t) {
    if (problem.period != 0 && t >= problem.period) break;
    const auto [a_low, a_high] = used_at(problem, a, t);
    const auto [b_low, b_high] = used_at(problem, b, t);
    if (a_low < a_high && b_low < b_high) return t;
  }
  return {};
}

/// Two items share a byte at one time, or use one address, be it at different times, while they are of
/// different classes; by the definition.
bool clash(const Problem& problem, const Solution& solution, std::size_t a, std::size_t b) {
  const auto cross = [&](std::pair<std::uint64_t, std::uint64_t> x,
                         std::pair<std::uint64_t, std::uint64_t> y) {
    const std::uint64_t p = solution.offsets[a].value(), q = solution.offsets[b].value();
    return x.first < x.second && y.first < y.second && p + x.first < q + y.second &&
           q + y.first < p + x.second;
  };
  const bool apart = problem.items[a].stream_class != problem.items[b].stream_class;
  const std::uint64_t end = problem.period != 0 ? problem.period : 32;
  for (std::uint64_t t = 0; t < end; ++t) {
    for (std::uint64_t u = apart ? 0 : t; u < (apart ? end : t + 1); ++u) {
      if (cross(used_at(problem, a, t), used_at(problem, b, u))) return true;
    }
  }
  return false;
}

class Mutation : public testing::Test {
 protected:
  /// A random valid solution; every third problem is cyclic, every second has two stream classes, three
  /// of four have gaps.
  void next() {
    Shape shape;
    shape.items = 12;
    shape.horizon = 20;
    shape.alignment = 4;
    shape.cyclic = round_ % 3 == 0;
    shape.classes = 1 + static_cast<std::uint32_t>(round_ % 2);
    if (round_ % 4 != 0) shape.gaps = 0.4;
    problem_ = random_problem(shape, random_);
    solution_ = stacked(problem_);
    if (round_ % 5 == 0 && problem_.gaps.empty()) {
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
  int planted = 0, beside_gaps = 0;
  while (planted < kPlantings) {
    next();
    const std::size_t a = any(), b = any();
    if (a == b) continue;
    // Moved so that the first bytes in use at the time when they meet coincide.
    const std::optional<std::uint64_t> when = meeting(problem_, a, b);
    if (!when) continue;
    const auto [a_low, a_high] = used_at(problem_, a, *when);
    const auto [b_low, b_high] = used_at(problem_, b, *when);
    const std::uint64_t target = solution_.offsets[b].value() + b_low;
    if (target < a_low) continue;
    solution_.offsets[a] = Offset(target - a_low);
    problem_.items[a].alignment = Bytes(1);
    refresh_height(problem_, solution_);
    EXPECT_NE(complaint(problem_, solution_), "") << "round " << round_;
    ++planted;
    beside_gaps += !problem_.gaps.empty();
  }
  EXPECT_GT(beside_gaps, kPlantings / 4);
}

TEST_F(Mutation, SharedAddressesOfTwoStreamsAreFound) {
  int planted = 0;
  while (planted < kPlantings) {
    next();
    const std::size_t a = any(), b = any();
    if (problem_.items[a].stream_class == problem_.items[b].stream_class) continue;
    problem_.gaps.clear();
    if (meeting(problem_, a, b)) continue;
    // The stacked solution gives every item its own addresses, and the two then coincide: this is the only
    // fault.
    problem_.items[a].size = problem_.items[b].size;
    solution_ = stacked(problem_);
    solution_.offsets[a] = solution_.offsets[b];
    refresh_height(problem_, solution_);
    EXPECT_NE(complaint(problem_, solution_).find("different streams"), std::string::npos)
        << "round " << round_ << " " << complaint(problem_, solution_);
    ++planted;
  }
}

TEST_F(Mutation, AnItemInARegionOfAnotherStreamIsFound) {
  for (int planted = 0; planted < kPlantings; ++planted) {
    next();
    problem_.gaps.clear();
    solution_ = stacked(problem_);  // every byte of every item is in use
    const std::size_t a = any();
    const Item& item = problem_.items[a];
    // One byte of the item's, its first or its last: its own stream's region is in order, another's is not.
    const Offset at = planted % 2 == 0 ? solution_.offsets[a] : solution_.offsets[a] + (item.size - Bytes(1));
    problem_.regions = {{item.stream_class, at, Bytes(1)}};
    EXPECT_EQ(complaint(problem_, solution_), "") << "round " << round_;
    problem_.regions = {{item.stream_class + 7, at, Bytes(1)}};
    EXPECT_NE(complaint(problem_, solution_).find("region of another stream"), std::string::npos)
        << "round " << round_;
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

TEST_F(Mutation, AHeightAboveTheCapacityIsFound) {
  for (int planted = 0; planted < kPlantings; ++planted) {
    next();
    problem_.capacity = solution_.height;
    EXPECT_EQ(complaint(problem_, solution_), "");
    problem_.capacity = solution_.height - Bytes(1 + random_() % 9);
    EXPECT_NE(complaint(problem_, solution_).find("above the capacity"), std::string::npos);
    EXPECT_TRUE(validate_placement(problem_, solution_).ok());
  }
}

TEST_F(Mutation, AGapThatMakesNoSenseIsRejected) {
  int planted = 0;
  while (planted < kPlantings) {
    next();
    if (problem_.gaps.empty()) continue;
    Gap& gap = problem_.gaps[random_() % problem_.gaps.size()];
    const Item& item = problem_.items[gap.item];
    switch (planted % 5) {
      case 0:
        gap.end = item.death + 1;
        break;
      case 1:
        gap.begin = gap.end;
        break;
      case 2:
        gap.upper = item.size + Bytes(1);
        break;
      case 3:
        gap.lower = gap.upper + Bytes(1);
        break;
      default:
        gap.item = static_cast<std::uint32_t>(problem_.items.size());
        break;
    }
    EXPECT_NE(complaint(problem_, solution_).find("gap"), std::string::npos) << "round " << round_;
    ++planted;
  }
}

// A gap frees exactly its own stretch and bytes, not a tick and not a byte more.
TEST_F(Mutation, AGapThatIsTooShortIsFound) {
  Item whole;
  whole.death = 10;
  whole.size = Bytes(8);
  whole.alignment = Bytes(1);
  Item guest = whole;
  guest.birth = 4;
  guest.death = 6;
  guest.size = Bytes(4);
  problem_.items = {whole, guest};
  problem_.gaps = {{0, 4, 6, Bytes(0), Bytes(4)}};
  solution_.offsets = {Offset(0), Offset(4)};
  refresh_height(problem_, solution_);
  EXPECT_EQ(complaint(problem_, solution_), "");
  for (const Gap& narrower : {Gap{0, 5, 6, Bytes(0), Bytes(4)}, Gap{0, 4, 5, Bytes(0), Bytes(4)},
                              Gap{0, 4, 6, Bytes(0), Bytes(5)}, Gap{0, 4, 6, Bytes(7), Bytes(8)}}) {
    problem_.gaps = {narrower};
    EXPECT_NE(complaint(problem_, solution_).find("share bytes"), std::string::npos);
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
    shape.gaps = round % 4 == 0 ? 0 : 0.5;
    problem_ = random_problem(shape, random_);
    solution_.offsets.clear();
    for (std::size_t i = 0; i < problem_.items.size(); ++i) solution_.offsets.emplace_back(random_() % 16);
    refresh_height(problem_, solution_);
    bool good = true;
    for (std::size_t a = 0; a < problem_.items.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) good = good && !clash(problem_, solution_, a, b);
    }
    EXPECT_EQ(complaint(problem_, solution_).empty(), good) << "round " << round;
    valid += good;
  }
  EXPECT_GT(valid, 300);  // both answers are really tried
  EXPECT_LT(valid, 2700);
}

}  // namespace
}  // namespace stowage::planner::placement
