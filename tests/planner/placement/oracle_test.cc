// Placement against exact answers: exhaustive search on tiny problems, and MODeL's location ILP (Steiner et
// al. 2022) solved by lp_solve on small ones. place() must find the least height, and no bound may be above
// it.
#include <gtest/gtest.h>

#include <optional>

#include "planner/placement/problem/validator.h"
#include "planner/placement/solve.h"
#include "planner/placement/windows/location_ilp.h"
#include "tests/planner/placement/exhaustive.h"
#include "tests/planner/placement/problems.h"

namespace stowage::planner::placement {
namespace {

/// The least height by lp_solve, which is asked for `height` or less; nothing if it gave no answer.
std::optional<std::uint64_t> ilp_height(const Problem& problem, std::uint64_t height) {
  IlpProblem program;
  program.floor = lower_bound(problem).value();
  program.capacity = height;
  for (const Item& item : problem.items) {
    program.buffers.push_back({item.size.value(), item.alignment.value(), {}});
  }
  for (std::uint32_t a = 0; a < problem.items.size(); ++a) {
    for (std::uint32_t b = 0; b < a; ++b) {
      if (meet_by_definition(problem, a, b)) program.meets.emplace_back(a, b);
    }
  }
  const IlpAnswer answer = solve_location_ilp(program, {}, 20'000);
  if (answer.kind != IlpAnswer::Kind::kOptimal) return {};
  return answer.height;
}

Solution placed(const Problem& problem, std::uint64_t seed = 1) {
  PlaceOptions options;
  options.threads = 1;
  options.seed = seed;
  options.work_limit = 100'000'000;
  const auto solution = place(problem, options);
  EXPECT_TRUE(solution.ok()) << (solution.ok() ? "" : solution.error().message);
  if (!solution.ok()) return {};
  EXPECT_TRUE(validate(problem, *solution).ok());
  return *solution;
}

TEST(Oracle, ExhaustiveSearchOnTenThousandProblems) {
  std::mt19937_64 random(21);
  int above_bound = 0;
  for (int round = 0; round < 10'000; ++round) {
    Shape shape;
    shape.items = 1 + random() % 8;
    shape.cyclic = round % 2 == 0;
    shape.empty = round % 5 == 0 ? 0.1 : 0;
    shape.alignment = round % 7 == 0 ? 4 : 1;
    shape.odd_alignment = round % 3 == 0 ? 0.4 : 0;
    Problem problem = random_problem(shape, random);
    if (round % 4 == 0) fix_some(problem, stacked(problem), random);
    const std::uint64_t best = exhaustive_height(problem);
    const Solution solution = placed(problem);
    ASSERT_EQ(solution.height.value(), best) << "round " << round;
    ASSERT_LE(solution.lower_bound.value(), best) << "round " << round;
    ASSERT_TRUE(solution.proved_optimal) << "round " << round;
    above_bound += lower_bound(problem).value() < best;
  }
  EXPECT_GT(above_bound, 500);  // in enough of them the live bytes are not the answer
}

TEST(Oracle, LpSolveOnFiveHundredProblems) {
  std::mt19937_64 random(22);
  int above_bound = 0, answered = 0;
  for (int round = 0; answered < 500; ++round) {
    ASSERT_LT(round, 600) << "lp_solve gives up too often";
    Shape shape;
    shape.items = 2 + random() % 11;
    shape.cyclic = round % 2 == 0;
    shape.horizon = 24;
    shape.odd_alignment = round % 5 == 0 ? 0.3 : 0;
    const Problem problem = random_problem(shape, random);
    const Solution solution = placed(problem);
    ASSERT_TRUE(solution.proved_optimal) << "round " << round;
    const auto best = ilp_height(problem, solution.height.value());
    if (!best) continue;
    ASSERT_EQ(solution.height.value(), *best) << "round " << round;
    ++answered;
    above_bound += lower_bound(problem) < solution.height;
  }
  EXPECT_GT(above_bound, 10);
}

TEST(Oracle, ACapacityBelowTheLeastHeightIsProvedAndExplained) {
  std::mt19937_64 random(23);
  int larger_than_cliques = 0;
  for (int round = 0; round < 600; ++round) {
    Shape shape;
    shape.items = 2 + random() % 6;
    shape.cyclic = round % 3 == 0;
    shape.horizon = 8;
    Problem problem = random_problem(shape, random);
    const std::uint64_t best = exhaustive_height(problem);
    problem.capacity = Bytes(best);
    ASSERT_EQ(placed(problem).height.value(), best);
    problem.capacity = Bytes(best - 1);
    PlaceOptions options;
    options.threads = 1;
    const auto solution = place(problem, options);
    ASSERT_TRUE(solution.ok());
    ASSERT_FALSE(fits(problem, *solution));
    ASSERT_FALSE(solution->conflict.empty()) << "round " << round;
    // The conflict alone does not fit, and without any one of it the rest does.
    Problem alone;
    alone.period = problem.period;
    for (std::uint32_t item : solution->conflict) alone.items.push_back(problem.items[item]);
    ASSERT_GE(exhaustive_height(alone), best) << "round " << round;
    larger_than_cliques += lower_bound(alone).value() < best;
    for (std::size_t out = 0; out < alone.items.size(); ++out) {
      Problem fewer = alone;
      fewer.items.erase(fewer.items.begin() + static_cast<std::ptrdiff_t>(out));
      if (fewer.items.empty()) continue;
      ASSERT_LT(exhaustive_height(fewer), best) << "round " << round;
    }
  }
  EXPECT_GT(larger_than_cliques, 10);
}

}  // namespace
}  // namespace stowage::planner::placement
