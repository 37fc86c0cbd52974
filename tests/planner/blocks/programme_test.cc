// The programme over blocks, against all choices.
#include "planner/schedule/blocks/programme.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kStep = 1024;

// In all blocks at most 512 steps are dropped, so that nothing is lost by rounding.
ChainProblem random_chain(std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::size_t blocks = 2 + random() % 3;
  ChainProblem problem;
  problem.own_part = seed % 2 == 0 ? 0 : 1;
  std::uint64_t all = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    std::vector<BlockOption> options(1);
    options[0].path_ns = 100 * (1 + random() % 50);
    for (std::size_t i = random() % 3; i > 0; --i) {
      BlockOption more = options.back();
      more.dropped += kStep * (1 + random() % 20);
      more.own_ns += 100 * (1 + random() % 50);
      more.path_ns += 100 * (random() % 20);
      options.push_back(more);
    }
    problem.border.push_back(kStep * (random() % 6));
    all += options.back().dropped + problem.border.back();
    problem.options.push_back(std::move(options));
    problem.needs.push_back({kStep * (random() % (1 + 2 * b)), kStep * (random() % (1 + 3 * b))});
  }
  problem.border.back() += 512 * kStep - all;  // so that a unit is a step
  problem.dropped = kStep * (random() % 40);
  return problem;
}

struct Way {
  std::uint64_t cost_ns = 0;
  std::uint64_t dropped = 0;
  bool kept = true;  // the last border
};

std::optional<Way> with(const ChainProblem& problem, std::size_t b, const Way& way, const Choice& choice) {
  const BlockOption& option = problem.options[b][choice.option];
  const std::uint64_t held = way.kept || b == 0 ? 0 : problem.border[b - 1];
  const std::uint64_t own = problem.own_part == 0 ? 0 : option.dropped;
  if (way.dropped < problem.needs[b].forward || way.dropped + own < problem.needs[b].backward + held)
    return std::nullopt;
  if (!choice.keeps_border && (!way.kept || problem.border[b] == 0)) return std::nullopt;
  Way next{way.cost_ns + option.own_ns, way.dropped + option.dropped, choice.keeps_border};
  if (choice.keeps_border) return next;
  next.cost_ns += option.path_ns;
  next.dropped += problem.border[b];
  return next;
}

std::optional<std::uint64_t> least_ns(const ChainProblem& problem, std::size_t b, const Way& way) {
  if (b == problem.options.size())
    return way.dropped >= problem.dropped ? std::optional(way.cost_ns) : std::nullopt;
  std::optional<std::uint64_t> least;
  for (std::uint32_t i = 0; i < problem.options[b].size(); ++i) {
    for (const bool keeps : {true, false}) {
      const std::optional<Way> next = with(problem, b, way, {i, keeps});
      if (!next) continue;
      const std::optional<std::uint64_t> rest = least_ns(problem, b + 1, *next);
      if (rest && (!least || *rest < *least)) least = rest;
    }
  }
  return least;
}

TEST(BlockProgramme, ChoosesTheCheapestOfAllWays) {
  std::size_t fit = 0, none = 0;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const ChainProblem problem = random_chain(seed);
    const std::optional<std::vector<Choice>> choices = choose_options(problem);
    const std::optional<std::uint64_t> least = least_ns(problem, 0, {});
    ASSERT_EQ(choices.has_value(), least.has_value()) << seed;
    (choices ? fit : none) += 1;
    if (!choices) continue;
    Way way;
    for (std::size_t b = 0; b < choices->size(); ++b) {
      const std::optional<Way> next = with(problem, b, way, (*choices)[b]);
      ASSERT_TRUE(next) << seed;
      way = *next;
    }
    EXPECT_GE(way.dropped, problem.dropped) << seed;
    EXPECT_EQ(way.cost_ns, *least) << seed;
  }
  EXPECT_GT(fit, 500u);
  EXPECT_GT(none, 20u);
}

TEST(BlockProgramme, RoundsInFavourOfTheBudget) {
  ChainProblem problem;
  BlockOption all;
  BlockOption none = all;
  all.dropped = 1'000'003;
  all.own_ns = 100;
  problem.options = {{none, all}};
  problem.border = {0};
  problem.needs = {{0, 0}};
  problem.dropped = 998'000;
  ASSERT_TRUE(choose_options(problem));
  problem.dropped = 1'000'004;
  EXPECT_FALSE(choose_options(problem));
}

}  // namespace
}  // namespace stowage::planner::schedule
