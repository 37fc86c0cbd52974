// place() on problems of every kind: valid, the same for any number of threads, stoppable, and clear about
// what is wrong.
#include "planner/placement/solve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "planner/placement/problem/validator.h"
#include "planner/placement/proofs/bounds.h"
#include "tests/planner/placement/exhaustive.h"
#include "tests/planner/placement/problems.h"

namespace stowage::planner::placement {
namespace {

PlaceOptions quick(int threads = 1) {
  PlaceOptions options;
  options.threads = threads;
  options.work_limit = 3'000'000;
  return options;
}

Item item(std::uint64_t birth, std::uint64_t death, std::uint64_t size, std::uint64_t alignment = 1) {
  Item made;
  made.birth = birth;
  made.death = death;
  made.size = Bytes(size);
  made.alignment = Bytes(alignment);
  return made;
}

Solution placed(const Problem& problem, const PlaceOptions& options) {
  const auto solution = place(problem, options);
  EXPECT_TRUE(solution.ok()) << (solution.ok() ? "" : solution.error().message);
  if (!solution.ok()) return {};
  const Status status =
      fits(problem, *solution) ? validate(problem, *solution) : validate_placement(problem, *solution);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  EXPECT_GE(solution->height, lower_bound(problem));
  EXPECT_GE(solution->lower_bound, lower_bound(problem));
  return *solution;
}

Shape shape_of(std::uint32_t round, std::mt19937_64& random) {
  Shape shape;
  shape.items = 1 + random() % 40;
  shape.horizon = 1 + random() % 30;
  shape.cyclic = (round & 1) != 0;
  shape.classes = (round & 2) != 0 ? 3 : 1;
  shape.empty = (round & 4) != 0 ? 0.2 : 0;
  shape.alignment = (round & 8) != 0 ? 512 : 1;
  shape.odd_alignment = (round & 16) != 0 ? 0.5 : 0;
  shape.gaps = (round & 32) != 0 ? 0.4 : 0;
  return shape;
}

TEST(Place, EveryKindOfProblemGivesValidPlacements) {
  std::mt19937_64 random(31);
  for (std::uint32_t round = 0; round < 256; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Problem problem = random_problem(shape_of(round, random), random);
    const Solution free = placed(problem, quick());
    if (round % 3 == 0) fix_some(problem, free, random);
    if (round % 5 == 0) problem.capacity = free.height;
    placed(problem, quick());
    if (HasFailure()) break;
  }
}

TEST(Place, ThreadsDoNotChangeTheResult) {
  std::mt19937_64 random(32);
  for (std::uint32_t round = 0; round < 24; ++round) {
    Shape shape = shape_of(round, random);
    shape.items = 60;
    shape.horizon = 40;
    const Problem problem = random_problem(shape, random);
    const Solution one = placed(problem, quick(1));
    for (int threads : {2, 8}) {
      const Solution more = placed(problem, quick(threads));
      EXPECT_EQ(one.offsets, more.offsets) << "round " << round;
      EXPECT_EQ(one.work, more.work) << "round " << round;
      EXPECT_EQ(one.lower_bound, more.lower_bound) << "round " << round;
      EXPECT_EQ(one.technique, more.technique) << "round " << round;
    }
  }
}

TEST(Place, HardProblemsFitTheirCapacityWithAnyThreads) {
  for (const char* name : {"A.1048576", "D.1048576", "K.1048576"}) {
    Problem problem = read_problem(name);
    problem.capacity = Bytes(1048576);
    PlaceOptions options;
    options.threads = 1;
    const Solution one = placed(problem, options);
    EXPECT_LE(one.height, Bytes(1048576)) << name;
    options.threads = 2;
    EXPECT_EQ(placed(problem, options).offsets, one.offsets) << name;
  }
}

TEST(Place, ATrainingTraceReachesItsBoundAndProvesIt) {
  const Problem problem = read_problem("somas_resnet50");
  const Solution solution = placed(problem, {});
  EXPECT_TRUE(solution.proved_optimal);
  EXPECT_EQ(solution.height, lower_bound(problem));
}

TEST(Place, EachTechniqueCanBeSwitchedOff) {
  std::mt19937_64 random(33);
  const std::vector<bool Techniques::*> all{&Techniques::boosting, &Techniques::exact,  &Techniques::bisect,
                                            &Techniques::windows,  &Techniques::proofs, &Techniques::explain,
                                            &Techniques::glue};
  for (std::uint32_t round = 0; round < 48; ++round) {
    const Problem problem = random_problem(shape_of(round, random), random);
    const Solution full = placed(problem, quick());
    for (auto technique : all) {
      PlaceOptions options = quick();
      options.techniques.*technique = false;
      placed(problem, options);
    }
    PlaceOptions none = quick();
    for (auto technique : all) none.techniques.*technique = false;
    EXPECT_GE(placed(problem, none).height, full.height);
    PlaceOptions by_ilp = quick();
    by_ilp.techniques.exact = false;
    by_ilp.techniques.window_ilp = true;
    placed(problem, by_ilp);
    if (HasFailure()) FAIL() << "round " << round;
  }
}

TEST(Place, TimesAtTheEndsOfTheirRangeAndHugeSizes) {
  constexpr std::uint64_t kLast = ~std::uint64_t{0};
  const std::uint64_t quarter = std::uint64_t{1} << 60;
  Problem problem{{item(0, kLast, quarter), item(kLast - 1, kLast, quarter), item(0, 1, quarter - 7, 3),
                   item(0, 0, 5), item(kLast, kLast, 9), item(3, 4, 0)},
                  0};
  const Solution solution = placed(problem, quick());
  EXPECT_EQ(solution.height.value(), 2 * quarter);
  problem.period = kLast;
  problem.items = {item(kLast - 1, kLast, quarter), item(5, kLast - 1, quarter),
                   item(0, kLast, quarter - 512)};
  EXPECT_EQ(placed(problem, quick()).height.value(), 2 * quarter - 512);
}

TEST(Place, AGapIsUsed) {
  // The first needs only its upper half while the second lives.
  Problem problem{{item(0, 10, 8), item(4, 6, 4)}, 0};
  problem.gaps = {{0, 4, 6, Bytes(4), Bytes(8)}};
  EXPECT_EQ(placed(problem, quick()).height, Bytes(8));
  EXPECT_TRUE(placed(problem, quick()).proved_optimal);
}

TEST(Place, BoundsCountAlignmentAndWhatIsFixed) {
  const Problem aligned{{item(0, 2, 5, 8), item(0, 2, 5, 8), item(1, 2, 3, 8)}, 0};
  EXPECT_EQ(clique_bound(build_instance(aligned, 0, {})), 8u + 8u + 3u);
  EXPECT_TRUE(placed(aligned, quick()).proved_optimal);
  Problem fixed{{item(0, 2, 4), item(0, 2, 4), item(0, 2, 2)}, 0};
  fixed.items[2].fixed = Offset(3);  // 3 bytes below it, too few for either
  EXPECT_EQ(clique_bound(build_instance(fixed, 0, {})), 13u);
  EXPECT_EQ(placed(fixed, quick()).height, Bytes(13));
}

TEST(Place, BoundsAreNeverAboveTheLeastHeight) {
  std::mt19937_64 random(34);
  int raised = 0;
  for (int round = 0; round < 1500; ++round) {
    Shape shape;
    shape.items = 2 + random() % 6;
    shape.horizon = 8;
    shape.cyclic = round % 2 == 0;
    shape.odd_alignment = round % 3 == 0 ? 0.5 : 0;
    Problem problem = random_problem(shape, random);
    if (round % 4 == 0) fix_some(problem, stacked(problem), random);
    const std::uint64_t best = exhaustive_height(problem);
    const Instance instance = build_instance(problem, 0, {});
    const std::uint64_t bound = clique_bound(instance);
    ASSERT_LE(bound, best) << "round " << round;
    const Limits limits;
    const Race race{~0u};
    WorkMeter meter(limits, 10'000'000, race, 0);
    const std::uint64_t proved = prove_bound(instance, bound, best, limits, meter);
    ASSERT_LE(proved, best) << "round " << round;
    ASSERT_GE(proved, bound) << "round " << round;
    raised += proved > instance.bound;
  }
  EXPECT_GT(raised, 50);
}

TEST(Place, BetterPlacementsAreShownOnTheWay) {
  const Problem problem = read_problem("D.1048576");
  std::vector<Bytes> heights;
  PlaceOptions options;
  options.work_limit = 200'000'000;
  options.on_better = [&](const Solution& solution) {
    EXPECT_TRUE(validate(problem, solution).ok());
    heights.push_back(solution.height);
  };
  const Solution last = placed(problem, options);
  ASSERT_GE(heights.size(), 2u);
  EXPECT_TRUE(std::is_sorted(heights.rbegin(), heights.rend()));
  EXPECT_EQ(heights.back(), last.height);
}

// D's least height is not known; a search for it would go on for hours. The slack is for slow machines.
TEST(Place, AStopIsHeededAtOnce) {
  const Problem problem = read_problem("D.1048576");
  std::stop_source source;
  std::chrono::steady_clock::time_point stopped;
  PlaceOptions options;
  options.work_limit = std::uint64_t{1} << 60;
  options.stop = source.get_token();
  options.on_better = [&](const Solution&) {
    stopped = std::chrono::steady_clock::now();
    source.request_stop();
  };
  const auto solution = place(problem, options);
  ASSERT_FALSE(solution.ok());
  EXPECT_EQ(solution.error().code, ErrorCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - stopped, std::chrono::seconds(2));
}

TEST(Place, ATimeLimitReturnsTheBestSoFar) {
  const Problem problem = read_problem("D.1048576");
  PlaceOptions options;
  options.work_limit = std::uint64_t{1} << 60;
  options.time_limit_s = 0.2;
  EXPECT_LE(placed(problem, options).height, Bytes(2 * 1048576));
}

TEST(Place, WhatIsWrongIsSaid) {
  const auto message = [](const Problem& problem, const PlaceOptions& options = {}) {
    const auto solution = place(problem, options);
    return solution.ok() ? std::string() : solution.error().message;
  };
  Problem overlap{{item(0, 2, 4), item(1, 3, 4)}, 0};
  overlap.items[0].fixed = Offset(0);
  overlap.items[1].fixed = Offset(2);
  EXPECT_NE(message(overlap).find("fixed items overlap"), std::string::npos);
  EXPECT_NE(message({{item(3, 2, 4)}, 0}).find("dies before it is born"), std::string::npos);
  EXPECT_NE(message({{item(0, 2, std::uint64_t{1} << 62)}, 0}).find("2^62"), std::string::npos);
  PlaceOptions options;
  options.time_limit_s = 0;
  EXPECT_NE(message({{item(0, 2, 4)}, 0}, options).find("time limit"), std::string::npos);
  options = {};
  options.threads = -1;
  EXPECT_NE(message({{item(0, 2, 4)}, 0}, options).find("threads"), std::string::npos);
  options = {};
  options.work_limit = 0;
  EXPECT_NE(message({{item(0, 2, 4)}, 0}, options).find("work limit"), std::string::npos);
}

TEST(Place, AnEmptyProblemHasHeightZero) {
  const Solution solution = placed({}, quick());
  EXPECT_EQ(solution.height, Bytes(0));
  EXPECT_TRUE(solution.proved_optimal);
}

}  // namespace
}  // namespace stowage::planner::placement
