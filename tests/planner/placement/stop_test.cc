// A stop and the number of threads, over the whole portfolio: place() looks at the stop often enough whatever
// it is doing, does hardly anything after one, and gives the same answer with 1, 2 and 8 threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "planner/lifetimes.h"
#include "planner/placement/greedy/greedy.h"
#include "planner/placement/problem/validator.h"
#include "planner/placement/solve.h"
#include "tests/planner/placement/problems.h"
#include "tests/planner/training_traces.h"

namespace stowage::planner::placement {
namespace {

struct Case {
  std::string name;
  Problem problem;
  PlaceOptions options;
};

/// One problem of each kind, and each technique that is not on by itself.
std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const std::string& name, Problem problem) -> PlaceOptions& {
    PlaceOptions options;
    options.threads = 1;
    options.work_limit = 30'000'000;
    all.push_back({name, std::move(problem), options});
    return all.back().options;
  };
  add("minimalloc", read_problem("D.1048576"));
  add("windows", read_problem("J.1048576")).techniques.exact = false;
  add("lp_solve", read_problem("J.1048576")).techniques = {.exact = false, .window_ilp = true};
  add("capacity", read_problem("E.1048576"));
  all.back().problem.capacity = Bytes(1048576);
  std::mt19937_64 random(7);
  Shape shape;
  shape.items = 2500;
  shape.horizon = 1200;
  shape.max_size = 300;
  add("random", random_problem(shape, random));
  Problem fixed = all.back().problem;
  fix_some(fixed, stacked(fixed), random);
  add("fixed", fixed);
  shape.gaps = 0.3;
  add("gaps", random_problem(shape, random));
  shape.gaps = 0;
  shape.cyclic = true;
  add("cyclic", random_problem(shape, random));
  shape.classes = 3;
  shape.odd_alignment = 0.4;
  add("streams", random_problem(shape, random));
  add("cut", find_lifetimes(training_trace(gpt_in_micro_batches(60'000, 24, false)))->problem);
  return all;
}

TEST(Stop, LooksAreNeverFarApart) {
  for (Case& it : cases()) {
    std::uint64_t farthest = 0, looks = 0;
    it.options.on_look = [&](std::uint64_t work) {
      farthest = std::max(farthest, work);
      ++looks;
    };
    const auto solution = place(it.problem, it.options);
    ASSERT_TRUE(solution.ok()) << it.name;
    // What is counted in one go is a step of a search or a pass over all items: a millisecond or two at most.
    EXPECT_LT(farthest, 16 * WorkMeter::kLookEvery) << it.name;
    EXPECT_LT(solution->work, looks * 2 * WorkMeter::kLookEvery) << it.name;
  }
}

TEST(Stop, NothingIsBegunAfterIt) {
  for (Case& it : cases()) {
    std::uint64_t total = 0;
    it.options.on_look = [&](std::uint64_t) { ++total; };
    ASSERT_TRUE(place(it.problem, it.options).ok()) << it.name;
    for (std::uint64_t part = 0; part < 4; ++part) {
      const std::uint64_t when = 1 + part * total / 4;
      std::stop_source source;
      std::uint64_t looks = 0;
      it.options.stop = source.get_token();
      it.options.on_look = [&](std::uint64_t) {
        if (++looks == when) source.request_stop();
      };
      const auto solution = place(it.problem, it.options);
      ASSERT_FALSE(solution.ok()) << it.name << " at look " << when;
      EXPECT_EQ(solution.error().code, ErrorCode::kCancelled) << it.name;
      EXPECT_LE(looks, when + 40) << it.name;  // members of a portfolio that each look once
    }
  }
}

TEST(SharedWork, EndsASolveWithThePlacementThatItHas) {
  for (Case& it : cases()) {
    const auto whole = place(it.problem, it.options);
    SharedWork work(whole->work / 4 + 1);
    it.options.shared_work = &work;
    const auto solution = place(it.problem, it.options);
    ASSERT_TRUE(solution.ok()) << it.name;
    it.problem.capacity.reset();  // what was found until then may be above it
    EXPECT_TRUE(validate(it.problem, *solution).ok()) << it.name;
    EXPECT_GE(solution->height, whole->height) << it.name;
    EXPECT_LE(solution->work, std::max(whole->work, std::uint64_t{1})) << it.name;
  }
}

TEST(SharedWork, IsThatOfAllSolvesTogether) {
  Case it = cases().front();
  const std::uint64_t alone = place(it.problem, it.options)->work;
  SharedWork work(alone + alone / 2);
  it.options.shared_work = &work;
  std::uint64_t together = 0;
  for (int time = 0; time < 20; ++time) together += place(it.problem, it.options)->work;
  EXPECT_LT(together, 4 * alone) << "20 solves of " << alone;
}

void expect_same_for_any_threads(const Problem& problem, PlaceOptions options, const std::string& name) {
  options.threads = 1;
  const auto one = place(problem, options);
  ASSERT_TRUE(one.ok()) << name << ": " << one.error().message;
  for (int threads : {2, 8}) {
    options.threads = threads;
    const auto more = place(problem, options);
    ASSERT_TRUE(more.ok()) << name;
    EXPECT_EQ(one->offsets, more->offsets) << name << ", " << threads << " threads";
    EXPECT_EQ(one->lower_bound, more->lower_bound) << name;
    EXPECT_EQ(one->technique, more->technique) << name;
    EXPECT_EQ(one->work, more->work) << name;
    EXPECT_EQ(one->conflict, more->conflict) << name;
  }
}

TEST(Threads, DoNotChangeTheResultOfAnyTechnique) {
  for (const Case& it : cases()) expect_same_for_any_threads(it.problem, it.options, it.name);
}

TEST(Threads, DoNotChangeTheResultOfStoredProblems) {
  PlaceOptions options;
  options.work_limit = 12'000'000;
  for (char name = 'A'; name <= 'K'; ++name) {
    Problem problem = read_problem(std::string(1, name) + ".1048576");
    expect_same_for_any_threads(problem, options, std::string(1, name));
    problem.capacity = Bytes(1048576);
    expect_same_for_any_threads(problem, options, std::string(1, name) + " at capacity");
  }
  expect_same_for_any_threads(read_problem("somas_resnet50"), options, "resnet50");
  expect_same_for_any_threads(read_problem("iopddl_S_1"), options, "S_1");  // large enough to be folded
}

TEST(Threads, DoNotChangeTheResultOfAHundredAndTwentyEightProblems) {
  std::mt19937_64 random(8);
  for (std::uint32_t round = 0; round < 128; ++round) {
    Shape shape;
    shape.items = 20 + random() % 80;
    shape.horizon = 10 + random() % 60;
    shape.cyclic = (round & 1) != 0;
    shape.classes = (round & 2) != 0 ? 3 : 1;
    shape.gaps = (round & 4) != 0 ? 0.4 : 0;
    shape.odd_alignment = (round & 8) != 0 ? 0.5 : 0;
    Problem problem = random_problem(shape, random);
    if ((round & 16) != 0) fix_some(problem, stacked(problem), random);
    if ((round & 32) != 0) problem.capacity = Bytes(lower_bound(problem).value() * 21 / 20);
    PlaceOptions options;
    options.work_limit = 1'000'000;
    options.seed = round;
    options.techniques.exact = (round & 64) == 0;
    expect_same_for_any_threads(problem, options, "round " + std::to_string(round));
    if (HasFailure()) return;
  }
}

/// What is found before the slow boosters begin is shown first, so that a time limit which ends them keeps
/// it.
TEST(Place, WhatTheOrdersFoundIsShownBeforeBoostingBegins) {
  const Problem problem = read_problem("iopddl_S_1");
  GreedyOptions options;
  options.limits.work_limit = 3'000'000'000;
  std::vector<Bytes> stages;
  options.on_stage = [&](const Solution& stage) {
    EXPECT_TRUE(validate(problem, stage).ok());
    stages.push_back(stage.height);
  };
  const auto boosted = place_greedily(problem, options);
  options.boosting = false;
  options.on_stage = {};
  const auto orders = place_greedily(problem, options);
  ASSERT_TRUE(boosted.ok() && orders.ok());
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_LT(stages[1], stages[0]);
  EXPECT_LE(boosted->height, stages[1]);
  EXPECT_EQ(stages[1], orders->height);
}

}  // namespace
}  // namespace stowage::planner::placement
