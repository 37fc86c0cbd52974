// Windows: they never raise a placement, they keep it valid, and both solvers find what is small enough.
#include "planner/placement/windows/window.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/placement/instance/instance.h"
#include "planner/placement/instance/subset.h"
#include "planner/placement/problem/validator.h"
#include "planner/placement/windows/location_ilp.h"
#include "tests/planner/placement/exhaustive.h"
#include "tests/planner/placement/problems.h"

namespace stowage::planner::placement {
namespace {

const Race kAlone{~0u};

/// The windowed placement of a problem without fixed items, from all items one above the other.
Solution windowed(const Problem& problem, bool ilp) {
  const Instance instance = build_instance(problem, 0, {});
  Solution solution = stacked(problem);
  Draft draft;
  draft.height = solution.height.value();
  for (const Piece& piece : instance.pieces) draft.offsets.push_back(solution.offsets[piece.item].value());
  const Limits limits;
  WorkMeter meter(limits, 400'000'000, kAlone, 0);
  WindowOptions options;
  options.ilp = ilp;
  const bool reached = improve_by_windows(instance, instance.bound, options, limits, meter, draft);
  EXPECT_EQ(reached, draft.height <= instance.bound);
  EXPECT_LE(draft.height, solution.height.value());
  for (std::size_t p = 0; p < instance.pieces.size(); ++p)
    solution.offsets[instance.pieces[p].item] = Offset(draft.offsets[p]);
  // Items that use no byte at any time are no pieces and stay where they were.
  solution.height = Bytes(draft.height);
  for (std::size_t i = 0; i < problem.items.size(); ++i)
    solution.height = std::max(solution.height, Bytes(solution.offsets[i].value()) + problem.items[i].size);
  solution.lower_bound = Bytes(0);
  solution.proved_optimal = false;
  const Status status = validate(problem, solution);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return solution;
}

/// Half of the items have gaps, and others find room there.
TEST(Windows, UseTheGapsOfWhatStays) {
  std::mt19937_64 random(43);
  int least = 0, below_solid = 0;
  for (int round = 0; round < 200; ++round) {
    Shape shape;
    shape.items = 3 + random() % 6;
    shape.horizon = 8;
    shape.cyclic = round % 2 == 0;
    shape.gaps = 0.5;
    const Problem problem = random_problem(shape, random);
    Problem solid = problem;
    solid.gaps.clear();
    const Solution solution = windowed(problem, round % 4 == 0);
    least += solution.height == lower_bound(problem);
    below_solid += solution.height.value() < exhaustive_height(solid);
  }
  EXPECT_GT(least, 20);
  EXPECT_GT(below_solid, 5);
}

TEST(Windows, FindTheLeastHeightOfSmallProblems) {
  for (bool ilp : {false, true}) {
    std::mt19937_64 random(41);
    int least = 0;
    for (int round = 0; round < 100; ++round) {
      Shape shape;
      shape.items = 2 + random() % 6;
      shape.horizon = 8;
      shape.cyclic = round % 2 == 0;
      shape.odd_alignment = round % 4 == 0 ? 0.4 : 0;
      const Problem problem = random_problem(shape, random);
      const std::uint64_t best = exhaustive_height(problem);
      const Solution solution = windowed(problem, ilp);
      ASSERT_GE(solution.height.value(), best);
      least += solution.height.value() == best;
    }
    EXPECT_GE(least, 80) << (ilp ? "lp_solve" : "branch and bound");
  }
}

TEST(Windows, LowerLargerProblemsTooAndAreTheSameEachTime) {
  std::mt19937_64 random(42);
  for (int round = 0; round < 10; ++round) {
    Shape shape;
    shape.items = 60;
    shape.horizon = 30;
    shape.cyclic = round % 2 == 0;
    const Problem problem = random_problem(shape, random);
    const Solution once = windowed(problem, false);
    EXPECT_LT(once.height, stacked(problem).height);
    EXPECT_EQ(windowed(problem, false).offsets, once.offsets);
  }
}

TEST(LocationIlp, StretchesOfAddressesAreRespected) {
  IlpProblem problem;
  problem.capacity = 100;
  problem.buffers = {{10, 1, {{0, 9}, {20, 35}}}, {10, 8, {{0, 12}, {30, 100}}}};
  problem.buffers[0].allowed[0].end = 9;  // too small
  problem.meets = {{0, 1}};
  const IlpAnswer answer = solve_location_ilp(problem, {}, 100'000);
  ASSERT_EQ(answer.kind, IlpAnswer::Kind::kOptimal);
  EXPECT_EQ(answer.offsets, (std::vector<std::uint64_t>{20, 0}));
  EXPECT_EQ(answer.height, 30u);
}

TEST(LocationIlp, SaysWhatCannotBeAndWhenItWasStopped) {
  IlpProblem problem;
  problem.capacity = 19;
  problem.buffers = {{10, 1, {}}, {10, 1, {}}};
  problem.meets = {{0, 1}};
  EXPECT_EQ(solve_location_ilp(problem, {}, 100'000).kind, IlpAnswer::Kind::kInfeasible);
  std::stop_source source;
  source.request_stop();
  Limits limits;
  limits.stop = source.get_token();
  for (std::uint32_t i = 2; i < 30; ++i) {
    problem.buffers.push_back({7 + i * 5 % 13, 1, {}});
    for (std::uint32_t j = 0; j < i; ++j) {
      if ((i + j) % 3 != 0) problem.meets.emplace_back(i, j);
    }
  }
  problem.capacity = 300;
  EXPECT_EQ(solve_location_ilp(problem, limits, 100'000'000).kind, IlpAnswer::Kind::kUnknown);
  EXPECT_EQ(solve_location_ilp(problem, {}, 1).kind, IlpAnswer::Kind::kUnknown);
  problem.capacity = (std::uint64_t{1} << 62) + 1;  // beyond what doubles can tell apart
  EXPECT_EQ(solve_location_ilp(problem, {}, 100'000).kind, IlpAnswer::Kind::kUnknown);
}

}  // namespace
}  // namespace stowage::planner::placement
