// The placer against exact answers: exhaustive search on tiny problems, and MODeL's location ILP (Steiner et
// al. 2022) solved by lp_solve on small ones. No heuristic may be below the optimum and no lower bound above
// it.
#include <gtest/gtest.h>
#include <lpsolve/lp_lib.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "planner/placement/greedy.h"
#include "planner/placement/validator.h"
#include "tests/planner/problems.h"

namespace stowage::planner::placement {
namespace {

bool meet(const Problem& problem, std::size_t a, std::size_t b) {
  const auto at = [&](const Item& i, std::uint64_t t) {
    return (t >= i.birth && t < i.death) || (problem.period != 0 && t + problem.period < i.death);
  };
  for (std::uint64_t t = 0; t < 32; ++t) {
    if (at(problem.items[a], t) && at(problem.items[b], t)) return true;
  }
  return false;
}

/// The least height: some order of placing each item at the lowest free offset is optimal, so all orders are
/// tried.
std::uint64_t exhaustive_height(const Problem& problem) {
  const std::size_t n = problem.items.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::uint64_t best = ~std::uint64_t{0};
  do {
    std::vector<std::uint64_t> offset(n, 0);
    std::uint64_t height = 0;
    for (std::size_t k = 0; k < n; ++k) {
      std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
      for (std::size_t j = 0; j < k; ++j) {
        if (!meet(problem, order[k], order[j])) continue;
        taken.emplace_back(offset[order[j]], offset[order[j]] + problem.items[order[j]].size.value());
      }
      std::sort(taken.begin(), taken.end());
      std::uint64_t low = 0;
      for (const auto& [begin, end] : taken) {
        if (begin >= low + problem.items[order[k]].size.value()) break;
        low = std::max(low, end);
      }
      offset[order[k]] = low;
      height = std::max(height, low + problem.items[order[k]].size.value());
    }
    best = std::min(best, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// MODeL's location ILP: an address for each item; for each pair that meets a binary that says which lies
/// above.
std::uint64_t ilp_height(const Problem& problem) {
  const int n = static_cast<int>(problem.items.size());
  std::vector<std::pair<int, int>> pairs;
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < a; ++b) {
      if (meet(problem, static_cast<std::size_t>(a), static_cast<std::size_t>(b))) pairs.emplace_back(a, b);
    }
  }
  const int columns = n + 1 + static_cast<int>(pairs.size());  // addresses, height, binaries
  const auto size = [&](int i) {
    return static_cast<double>(problem.items[static_cast<std::size_t>(i)].size.value());
  };
  double total = 0;
  for (int i = 0; i < n; ++i) total += size(i);
  const std::unique_ptr<lprec, void (*)(lprec*)> lp(make_lp(0, columns), delete_lp);
  set_verbose(lp.get(), NEUTRAL);
  const auto row = [&](std::vector<double> value, std::vector<int> column, int kind, double right) {
    add_constraintex(lp.get(), static_cast<int>(value.size()), value.data(), column.data(), kind, right);
  };
  set_add_rowmode(lp.get(), TRUE);
  double one = 1;
  int height = n + 1;
  set_obj_fnex(lp.get(), 1, &one, &height);
  for (int i = 0; i < n; ++i) row({1, -1}, {height, i + 1}, GE, size(i));
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto [a, b] = pairs[p];
    const int above = n + 2 + static_cast<int>(p);  // 1: a lies above b
    row({1, -1, -total}, {a + 1, b + 1, above}, GE, size(b) - total);
    row({1, -1, total}, {b + 1, a + 1, above}, GE, size(a));
  }
  set_add_rowmode(lp.get(), FALSE);
  for (std::size_t p = 0; p < pairs.size(); ++p) set_binary(lp.get(), n + 2 + static_cast<int>(p), TRUE);
  EXPECT_EQ(solve(lp.get()), OPTIMAL);
  return static_cast<std::uint64_t>(get_objective(lp.get()) + 0.5);
}

Solution placed(const Problem& problem) {
  GreedyOptions options;
  options.limits.work_limit = 20'000;
  options.threads = 1;
  const auto solution = place_greedily(problem, options);
  EXPECT_TRUE(solution.ok());
  EXPECT_TRUE(validate(problem, *solution).ok());
  return *solution;
}

TEST(Oracle, ExhaustiveSearchOnTwoThousandProblems) {
  std::mt19937_64 random(21);
  int optimal = 0;
  for (int round = 0; round < 2000; ++round) {
    Shape shape;
    shape.items = 1 + random() % 6;
    shape.cyclic = round % 2 == 0;
    const Problem problem = random_problem(shape, random);
    const std::uint64_t best = exhaustive_height(problem);
    const Solution solution = placed(problem);
    ASSERT_GE(solution.height.value(), best) << "round " << round;
    ASSERT_LE(solution.lower_bound.value(), best) << "round " << round;
    ASSERT_TRUE(!solution.proved_optimal || solution.height.value() == best) << "round " << round;
    optimal += solution.height.value() == best;
  }
  RecordProperty("optimal", optimal);
  EXPECT_GE(optimal, 1900);
}

TEST(Oracle, LpSolveOnFiftyProblems) {
  std::mt19937_64 random(22);
  for (int round = 0; round < 50; ++round) {
    Shape shape;
    shape.items = 2 + random() % 7;
    shape.cyclic = round % 2 == 0;
    const Problem problem = random_problem(shape, random);
    const std::uint64_t best = ilp_height(problem);
    const Solution solution = placed(problem);
    ASSERT_GE(solution.height.value(), best) << "round " << round;
    ASSERT_LE(solution.lower_bound.value(), best) << "round " << round;
    ASSERT_TRUE(problem.items.size() > 6 || exhaustive_height(problem) == best) << "round " << round;
  }
}

}  // namespace
}  // namespace stowage::planner::placement
