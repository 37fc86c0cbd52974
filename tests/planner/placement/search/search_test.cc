// The exact search: right answers on problems that trying all orders can check, with every technique and
// without it; the problems of minimalloc and idealloc; and a portfolio whose answers do not depend on
// threads.
#include "planner/placement/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "planner/placement/problem/validator.h"
#include "planner/placement/search/minimise.h"
#include "tests/planner/placement/exhaustive.h"
#include "tests/planner/placement/problems.h"

namespace stowage::planner::placement::search {
namespace {

/// What the validator says to a draft, and to its height.
::testing::AssertionResult holds(const Problem& problem, const Instance& instance, const Draft& draft,
                                 std::uint64_t capacity) {
  Solution solution;
  for (const Item& item : problem.items) solution.offsets.push_back(item.fixed.value_or(Offset(0)));
  for (std::size_t i = 0; i < instance.pieces.size(); ++i)
    solution.offsets[instance.pieces[i].item] = Offset(draft.offsets[i]);
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    solution.height = std::max(solution.height, Bytes(solution.offsets[i].value()) + problem.items[i].size);
  }
  solution.lower_bound = lower_bound(problem);
  solution.proved_optimal = solution.height == solution.lower_bound;
  const Status status = validate(problem, solution);
  if (!status.ok()) return ::testing::AssertionFailure() << status.error().message;
  if (solution.height != Bytes(draft.height) || draft.height > capacity)
    return ::testing::AssertionFailure() << "height " << draft.height << " of " << solution.height.value();
  return ::testing::AssertionSuccess();
}

Outcome search_at(const Instance& instance, std::uint64_t capacity, const SearchOptions& options,
                  Draft& draft, std::uint64_t work = 1'000'000'000) {
  const Limits limits;
  const Race race{1};
  WorkMeter meter(limits, work, race, 0);
  return search(instance, capacity, options, meter, draft);
}

/// Small problems of every kind that the search takes; one in `large` has seven or eight items.
Problem small_problem(std::uint32_t round, std::uint32_t large, std::mt19937_64& random) {
  Shape shape;
  shape.items = round % large == 0 ? 7 + random() % 2 : 1 + random() % 6;
  shape.max_size = 2 + random() % 12;
  shape.horizon = 3 + random() % 10;
  shape.cyclic = round % 3 == 0;
  shape.alignment = round % 4 == 0 ? 6 : 1;
  shape.odd_alignment = round % 5 == 0 ? 0.4 : 0;
  Problem problem = random_problem(shape, random);
  if (round % 6 == 1) fix_some(problem, stacked(problem), random);
  return problem;
}

/// A placement of the least height is found, and none below it.
void expect_exact(const Problem& problem, std::uint64_t best, const SearchOptions& options,
                  const std::string& what) {
  const Instance instance = build_instance(problem, 0, {});
  Draft draft;
  ASSERT_TRUE(supports(instance, best));
  ASSERT_EQ(search_at(instance, best, options, draft), Outcome::kFound) << what;
  EXPECT_TRUE(holds(problem, instance, draft, best)) << what;
  if (best == 0) return;
  EXPECT_EQ(search_at(instance, best - 1, options, draft), Outcome::kInfeasible) << what;
  EXPECT_TRUE(draft.offsets.empty()) << what;
}

TEST(Search, AgreesWithAllOrdersOnTenThousandProblems) {
  std::mt19937_64 random(31);
  for (std::uint32_t round = 0; round < 10'000; ++round) {
    const Problem problem = small_problem(round, 40, random);
    SearchOptions options;
    options.rule = static_cast<Rule>(round % kRules);
    expect_exact(problem, exhaustive_height(problem), options, "round " + std::to_string(round));
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST(Search, NoTechniqueChangesTheAnswer) {
  const std::vector<std::function<void(SearchOptions&)>> switches = {
      [](SearchOptions& o) { o.memo = false; },           [](SearchOptions& o) { o.split = false; },
      [](SearchOptions& o) { o.tightest_first = false; }, [](SearchOptions& o) { o.lift = false; },
      [](SearchOptions& o) { o.twins = false; },          [](SearchOptions& o) { o.releases = true; },
      [](SearchOptions& o) { o.restarts = false; },       [](SearchOptions& o) { o.vary = false; },
      [](SearchOptions& o) { o.noise = false; },          [](SearchOptions& o) { o.reversed = true; },
      [](SearchOptions& o) { o.order = Order::kSize; },
  };
  std::mt19937_64 random(32);
  for (std::uint32_t round = 0; round < 600; ++round) {
    const Problem problem = small_problem(round, 30, random);
    const std::uint64_t best = exhaustive_height(problem);
    for (std::size_t i = 0; i < switches.size(); ++i) {
      SearchOptions options;
      options.rule = static_cast<Rule>((round + i) % kRules);
      switches[i](options);
      expect_exact(problem, best, options, "round " + std::to_string(round) + " switch " + std::to_string(i));
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
}

/// Each piece once, clear of all others: with gaps, with obstacles, stopped early or not, whatever is
/// switched.
TEST(Search, WhatItFindsHoldsWithAnySwitches) {
  std::mt19937_64 random(34);
  int found = 0;
  for (std::uint32_t round = 0; round < 4000; ++round) {
    Shape shape;
    shape.items = 1 + random() % (round % 8 == 0 ? 40 : 10);
    shape.horizon = 2 + random() % 20;
    shape.cyclic = round % 3 == 0;
    shape.gaps = round % 2 == 0 ? 0.4 : 0;
    shape.odd_alignment = round % 5 == 0 ? 0.4 : 0;
    Problem problem = random_problem(shape, random);
    if (round % 7 == 0) fix_some(problem, stacked(problem), random);
    const Instance instance = build_instance(problem, 0, {});
    SearchOptions options;
    options.seed = random();
    options.rule = static_cast<Rule>(random() % kRules);
    options.order = static_cast<Order>(random() % kOrders);
    for (bool SearchOptions::*option :
         {&SearchOptions::reversed, &SearchOptions::restarts, &SearchOptions::vary, &SearchOptions::noise,
          &SearchOptions::memo, &SearchOptions::split, &SearchOptions::tightest_first, &SearchOptions::lift,
          &SearchOptions::releases, &SearchOptions::twins}) {
      if (random() % 3 == 0) options.*option = !(options.*option);
    }
    const std::uint64_t capacity = instance.bound + random() % (instance.bound / 4 + 2);
    const std::uint64_t work = random() % 3 == 0 ? 1 + random() % 5000 : 2'000'000;
    Draft draft;
    const Outcome outcome = search_at(instance, capacity, options, draft, work);
    if (outcome == Outcome::kInfeasible) {
      EXPECT_TRUE(instance.parts.empty()) << "round " << round;
    }
    if (outcome != Outcome::kFound) continue;
    ++found;
    Solution solution;
    for (const Item& item : problem.items) solution.offsets.push_back(item.fixed.value_or(Offset(0)));
    for (std::size_t p = 0; p < instance.pieces.size(); ++p)
      solution.offsets[instance.pieces[p].item] = Offset(draft.offsets[p]);
    solution.height = height_of(problem, solution.offsets);  // what uses no byte at any time counts too
    const Status status = validate(problem, solution);
    ASSERT_TRUE(status.ok()) << "round " << round << ": " << status.error().message;
    ASSERT_LE(draft.height, capacity) << "round " << round;
  }
  EXPECT_GT(found, 2000);
}

TEST(Search, StopsWhenTheMeterSaysSo) {
  const Instance instance = build_instance(read_problem("D.1048576"), 0, {});
  Draft draft;
  EXPECT_EQ(search_at(instance, instance.bound, {}, draft, 3'000'000), Outcome::kOut);
  std::stop_source source;
  source.request_stop();
  Limits limits;
  limits.stop = source.get_token();
  const Race race{1};
  WorkMeter meter(limits, 1'000'000'000, race, 0);
  EXPECT_EQ(search(instance, instance.bound, {}, meter, draft), Outcome::kOut);
  EXPECT_LT(meter.used(), 1'000'000u);  // some milliseconds: the stop token is looked at that often
  EXPECT_EQ(find(instance, instance.bound, {}, limits).outcome, Outcome::kOut);
}

TEST(Search, LargeUnitsAreTakenOnAndSmallOnesOfLargeSumsAreNot) {
  Problem problem;
  Item item;
  item.death = 2;
  item.alignment = Bytes(1);
  item.size = Bytes(std::uint64_t{1} << 60);
  problem.items = {item, item};
  const Instance coarse = build_instance(problem, 0, {});
  Draft draft;
  ASSERT_TRUE(supports(coarse, std::uint64_t{1} << 61));
  EXPECT_EQ(search_at(coarse, std::uint64_t{1} << 61, {}, draft), Outcome::kFound);
  problem.items[1].size = Bytes(3);
  EXPECT_FALSE(supports(build_instance(problem, 0, {}), std::uint64_t{1} << 61));
}

TEST(Search, SolvesMinimallocsProblemsAtTheirCapacity) {
  for (char name = 'A'; name <= 'K'; ++name) {
    const Problem problem = read_problem(std::string(1, name) + ".1048576");
    const Instance instance = build_instance(problem, 0, {});
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      PortfolioOptions options;
      options.search.seed = seed;
      Limits limits;
      limits.work_limit = 400'000'000;
      const Found found = find(instance, 1'048'576, options, limits);
      ASSERT_EQ(found.outcome, Outcome::kFound) << name << seed;
      EXPECT_TRUE(holds(problem, instance, found.draft, 1'048'576)) << name << seed;
    }
  }
}

TEST(Search, GluingShortensAHeavyTail) {
  const Instance instance = build_instance(read_problem("E.1048576"), 0, {});
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    PortfolioOptions options;
    options.search.seed = seed;
    const Found glued = find(instance, 1'048'576, options, {});
    options.glue = false;
    const Found apart = find(instance, 1'048'576, options, {});
    ASSERT_EQ(glued.outcome, Outcome::kFound);
    ASSERT_EQ(apart.outcome, Outcome::kFound);
    EXPECT_LT(glued.work * 2, apart.work) << seed;
  }
}

TEST(Search, ReachesTheBoundOfATrainingStep) {
  const Problem problem = read_problem("somas_resnet50");
  const Instance instance = build_instance(problem, 0, {});
  Limits limits;
  limits.work_limit = 400'000'000;
  const Found found = find(instance, instance.bound, {}, limits);
  ASSERT_EQ(found.outcome, Outcome::kFound);
  EXPECT_TRUE(holds(problem, instance, found.draft, instance.bound));
}

TEST(Minimise, IsOptimalAndProvesItWhereTheBoundIsOutOfReach) {
  std::mt19937_64 random(33);
  int raised = 0;
  for (std::uint32_t round = 0; round < 800; ++round) {
    const Problem problem = small_problem(round, 4, random);
    const Instance instance = build_instance(problem, 0, {});
    const std::uint64_t best = exhaustive_height(problem);
    const Minimised result = minimise(instance, {}, {});
    ASSERT_EQ(result.lower_bound, best) << "round " << round;
    ASSERT_TRUE(holds(problem, instance, result.draft, best)) << "round " << round;
    raised += static_cast<int>(best > instance.bound);
    MinimiseOptions known;
    known.upper_bound = best;
    const Minimised proof = minimise(instance, known, {});
    EXPECT_TRUE(proof.draft.offsets.empty());
    EXPECT_EQ(proof.lower_bound, best);
  }
  EXPECT_GT(raised, 20);
}

TEST(Minimise, CallsBackWithEachBetterDraft) {
  const Problem problem = read_problem("J.1048576");
  const Instance instance = build_instance(problem, 0, {});
  Limits limits;
  limits.work_limit = 100'000'000;
  MinimiseOptions options;
  options.upper_bound = 1'200'000;
  std::vector<std::uint64_t> heights;
  options.on_better = [&](const Draft& draft) {
    EXPECT_TRUE(holds(problem, instance, draft, draft.height));
    heights.push_back(draft.height);
  };
  const Minimised result = minimise(instance, options, limits);
  ASSERT_FALSE(heights.empty());
  EXPECT_EQ(heights.back(), result.draft.height);
  EXPECT_TRUE(std::is_sorted(heights.rbegin(), heights.rend()));
}

TEST(Minimise, IsTheSameForAnyNumberOfThreads) {
  for (const char* name : {"E.1048576", "J.1048576"}) {
    const Instance instance = build_instance(read_problem(name), 0, {});
    Limits limits;
    limits.work_limit = 60'000'000;
    MinimiseOptions options;
    options.portfolio.threads = 1;
    const Minimised one = minimise(instance, options, limits);
    for (int threads : {2, 8}) {
      options.portfolio.threads = threads;
      const Minimised many = minimise(instance, options, limits);
      EXPECT_EQ(many.draft.offsets, one.draft.offsets) << name << threads;
      EXPECT_EQ(many.lower_bound, one.lower_bound) << name << threads;
      EXPECT_EQ(many.work, one.work) << name << threads;
    }
  }
}

}  // namespace
}  // namespace stowage::planner::placement::search
