// Gluing: fewer pieces, placements that hold for the whole, and no proof that is none.
#include "planner/placement/search/glue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "planner/placement/greedy/decode.h"
#include "planner/placement/problem/validator.h"
#include "planner/placement/search/minimise.h"
#include "planner/placement/solve.h"
#include "tests/planner/placement/exhaustive.h"
#include "tests/planner/placement/problems.h"

namespace stowage::planner::placement {
namespace {

Solution solution_of(const Problem& problem, const Instance& instance, const Draft& draft) {
  Solution solution;
  for (const Item& item : problem.items) solution.offsets.push_back(item.fixed.value_or(Offset(0)));
  for (std::size_t p = 0; p < instance.pieces.size(); ++p)
    solution.offsets[instance.pieces[p].item] = Offset(draft.offsets[p]);
  solution.height = height_of(problem, solution.offsets);
  return solution;
}

Draft lowest_first(const Instance& instance) {
  const Limits limits;
  const Race race{1};
  WorkMeter meter(limits, 100'000'000, race, 0);
  Draft draft;
  EXPECT_TRUE(place_lowest_first(instance, sorted_order(instance, Key::kArea), meter, draft));
  return draft;
}

TEST(Glue, WhatIsPlacedGluedIsAPlacementOfTheWhole) {
  std::mt19937_64 random(51);
  std::size_t pieces = 0, glued_pieces = 0;
  for (std::uint32_t round = 0; round < 2000; ++round) {
    Shape shape;
    shape.items = 1 + random() % 60;
    shape.horizon = 2 + random() % 12;
    shape.cyclic = (round & 1) != 0;
    shape.gaps = (round & 2) != 0 ? 0.3 : 0;
    shape.odd_alignment = (round & 4) != 0 ? 0.5 : 0;
    shape.alignment = (round & 8) != 0 ? 6 : 1;
    Problem problem = random_problem(shape, random);
    if ((round & 16) != 0) fix_some(problem, stacked(problem), random);
    const Instance whole = build_instance(problem, 0, {});
    if (whole.pieces.empty()) continue;
    const Glued glued = glue(whole);
    ASSERT_EQ(glued.instance.pieces.size(), glued.members.size());
    pieces += whole.pieces.size();
    glued_pieces += glued.members.size();
    const Draft draft = lowest_first(glued.instance);
    const Draft apart = unglue(whole, glued, draft);
    EXPECT_EQ(apart.height, draft.height);
    const Status status = validate_placement(problem, [&] {
      Solution solution = solution_of(problem, whole, apart);
      solution.lower_bound = Bytes(0);
      return solution;
    }());
    ASSERT_TRUE(status.ok()) << "round " << round << ": " << status.error().message;
  }
  EXPECT_LT(glued_pieces * 10, pieces * 9);
}

TEST(Glue, PiecesOfOneLifeBecomeOne) {
  Problem problem;
  for (std::uint64_t i = 0; i < 6; ++i) {
    Item item;
    item.birth = i < 3 ? i : 10;  // the first three are born one after the other before any dies
    item.death = i < 3 ? 4 + i : 20;
    item.size = Bytes(i + 1);
    item.alignment = Bytes(1);
    problem.items.push_back(item);
  }
  const Glued glued = glue(build_instance(problem, 0, {}));
  ASSERT_EQ(glued.members.size(), 2u);
  EXPECT_EQ(glued.instance.pieces[0].size, 1u + 2u + 3u);
  EXPECT_EQ(glued.instance.pieces[1].size, 4u + 5u + 6u);
}

TEST(Glue, IsNeverTakenForAProof) {
  // Where pieces of one life must lie apart at the least height, the glued members find no more than the
  // rest.
  std::mt19937_64 random(52);
  int dearer = 0;
  for (std::uint32_t round = 0; round < 3000; ++round) {
    Shape shape;
    shape.items = 4 + random() % 4;
    shape.horizon = 3 + random() % 4;
    shape.max_size = 9;
    shape.cyclic = round % 4 == 0;
    Problem problem = random_problem(shape, random);
    if (round % 3 == 0) fix_some(problem, stacked(problem), random);
    const Instance whole = build_instance(problem, 0, {});
    if (whole.pieces.empty()) continue;
    const std::uint64_t best = exhaustive_height(problem);
    ASSERT_EQ(search::minimise(whole, {}, {}).lower_bound, best) << "round " << round;
    const Glued glued = glue(whole);
    if (glued.members.size() < whole.pieces.size())
      dearer += search::minimise(glued.instance, {}, {}).lower_bound > best;
  }
  EXPECT_GT(dearer, 5);  // gluing costs height in some
}

}  // namespace
}  // namespace stowage::planner::placement
