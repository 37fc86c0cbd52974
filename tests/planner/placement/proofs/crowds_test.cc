#include "planner/placement/proofs/crowds.h"

#include <gtest/gtest.h>

#include "planner/joint_planner.h"
#include "planner/kinds/twins.h"
#include "planner/placement/proofs/raised_bound.h"
#include "planner/placement/solve.h"
#include "tests/planner/kinds/automata.h"
#include "tests/planner/placement/proofs/items.h"

namespace stowage::planner::placement {
namespace {

// Two that take turns beside a third, and live together at another time.
Problem taking_turns() {
  Problem problem;
  problem.items = {item(0, 30, 4), item(10, 40, 4), item(0, 20, 8)};
  problem.gaps = {{0, 10, 20, Bytes(0), Bytes(0)}, {1, 20, 25, Bytes(0), Bytes(0)}};
  return problem;
}

TEST(CrowdBound, WhatTakesTurnsBesideAnotherNeedsItsPlaceTwice) {
  const Problem problem = taking_turns();
  EXPECT_EQ(lower_bound(problem), Bytes(12));
  EXPECT_EQ(raised_bound(problem), Bytes(16));
  const Result<Solution> placed = place(problem, {});
  EXPECT_EQ(placed->height, Bytes(16));
  EXPECT_TRUE(placed->proved_optimal);
}

TEST(CrowdBound, WhatNeverMeetsMayShareAPlace) {
  Problem problem = taking_turns();
  problem.items[1].death = 20;
  problem.gaps.pop_back();
  problem.items[0].death = 10;
  problem.gaps.clear();
  EXPECT_EQ(raised_bound(problem), Bytes(12));
}

TEST(CrowdBound, WhatStaysIsBesideAll) {
  Problem problem = taking_turns();
  problem.items.push_back(item(0, 40, 1));
  problem.items.back().fixed = Offset(0);
  EXPECT_EQ(raised_bound(problem), Bytes(17));
}

TEST(CrowdBound, AGapInWhichBytesAreNeededIsLeftOut) {
  Problem problem = taking_turns();
  problem.gaps[0].upper = Bytes(1);
  EXPECT_EQ(crowd_bound(build_instance(problem, 0, {})), 0u);
}

TEST(CrowdBound, IsNeverAboveAPlacement) {
  int raised = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    AutomatonOptions automaton;
    automaton.kinds = 2 + static_cast<int>(seed % 4);
    const Kinds kinds = kinds_of(trace_of(run_automaton(seed, automaton)));
    const Kinds twins = with_twins(kinds, std::vector<bool>(kinds.kinds.size(), seed % 2 == 0));
    const Problem problem = joint_problem(twins, std::vector<bool>(twins.kinds.size(), true), {}).problem;
    PlaceOptions options;
    options.work_limit = 5'000'000;
    const Result<Solution> placed = place(problem, options);
    ASSERT_TRUE(placed.ok());
    EXPECT_LE(raised_bound(problem), placed->height) << "seed " << seed;
    raised += raised_bound(problem) > lower_bound(problem) ? 1 : 0;
  }
  EXPECT_GT(raised, 10);
}

}  // namespace
}  // namespace stowage::planner::placement
