#include "planner/placement/replan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/lifetimes.h"
#include "planner/placement/problem/validator.h"
#include "tests/planner/placement/problems.h"
#include "tests/planner/training_traces.h"

namespace stowage::planner::placement {
namespace {

ReplanOptions quick() {
  ReplanOptions options;
  options.greedy.limits.work_limit = 3'000'000;
  return options;
}

Problem job_problem() {
  const auto lifetimes = find_lifetimes(training_trace(random_job(2000, 3)));
  EXPECT_TRUE(lifetimes.ok());
  return lifetimes.ok() ? lifetimes->problem : Problem{};
}

Replanned replanned(const Problem& problem, const Carried& old, Bytes height, const ReplanOptions& options) {
  const auto result = replan(problem, old, height, options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  if (!result.ok()) return {};
  const Status status = validate(problem, result->solution);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return *result;
}

class Replan : public testing::Test {
 protected:
  Replan() : problem_(job_problem()), solution_(*place_greedily(problem_, quick().greedy)) {}

  Problem problem_;
  Solution solution_;
};

TEST_F(Replan, NothingChangedNothingMoves) {
  const auto old = carry_over(problem_, solution_, problem_);
  const Replanned again = replanned(problem_, old, solution_.height, quick());
  EXPECT_EQ(again.solution.offsets, solution_.offsets);
  EXPECT_EQ(again.moved, 0u);
  EXPECT_EQ(again.step, 1);
}

/// Ten have grown and one is new.
Problem a_little_more(Problem problem) {
  for (std::size_t i = 100; i < 110; ++i) problem.items[i].size = problem.items[i].size + Bytes(512);
  Item more = problem.items[50];
  more.size = Bytes(4096);
  problem.items.push_back(more);
  return problem;
}

TEST_F(Replan, AFewChangesAreTakenUpWithoutPlacingAnew) {
  const Problem changed = a_little_more(problem_);
  const auto old = carry_over(problem_, solution_, changed);
  const Replanned again = replanned(changed, old, solution_.height, quick());
  EXPECT_LE(again.step, 2);
  EXPECT_LE(static_cast<double>(again.solution.height.value()),
            1.001 * static_cast<double>(std::max(solution_.height, again.solution.lower_bound).value()));
}

TEST_F(Replan, AFewChangesMoveNothingThatMustStay) {
  const Problem changed = a_little_more(problem_);
  const auto old = carry_over(problem_, solution_, changed);
  ReplanOptions options = quick();
  for (const auto& offset : old.offsets) options.keep_stable.push_back(offset.has_value());
  const Replanned again = replanned(changed, old, solution_.height, options);
  EXPECT_EQ(again.moved, 0u);
  EXPECT_GT(again.kept, changed.items.size() - 20);
  EXPECT_LE(static_cast<double>(again.solution.height.value()),
            1.01 * static_cast<double>(std::max(solution_.height, again.solution.lower_bound).value()));
}

/// More than 10,000 buffers of which one in so many gets another size, larger and smaller in turn.
class ReplanLarge : public testing::Test {
 protected:
  ReplanLarge()
      : before_(find_lifetimes(training_trace(gpt_in_micro_batches(12'000, 24, true)))->problem),
        solution_(*place_greedily(before_, {})) {}

  [[nodiscard]] Problem one_changed_in(std::size_t every) const {
    Problem after = before_;
    for (std::size_t i = 0; i < after.items.size(); i += every) {
      const Bytes size = after.items[i].size;
      after.items[i].size = i % (2 * every) == 0 ? size + Bytes(512) : Bytes(size.value() / 1024 * 512 + 512);
    }
    return after;
  }

  const Problem before_;
  const Solution solution_;
};

TEST_F(ReplanLarge, OneChangeInAThousandMovesNothingElse) {
  const Problem after = one_changed_in(1000);
  const auto old = carry_over(before_, solution_, after);
  const Replanned again = replanned(after, old, solution_.height, {});
  const auto anew = place_greedily(after, {});
  ASSERT_TRUE(anew.ok());
  EXPECT_GT(again.solution.work, 0u);
  EXPECT_LT(again.solution.work, anew->work / 5);
  EXPECT_LE(static_cast<double>(again.solution.height.value()),
            1.001 * static_cast<double>(anew->height.value()));
  for (std::size_t i = 0; i < after.items.size(); ++i) {
    const bool unchanged = after.items[i].size == before_.items[i].size;
    EXPECT_TRUE(!unchanged || again.solution.offsets[i] == solution_.offsets[i]) << i;
  }
}

TEST_F(ReplanLarge, OneChangeInAHundredIsTakenUpByLifting) {
  const Problem after = one_changed_in(100);
  const Replanned again = replanned(after, carry_over(before_, solution_, after), solution_.height, {});
  const auto anew = place_greedily(after, {});
  ASSERT_TRUE(anew.ok());
  EXPECT_EQ(again.step, 2);
  EXPECT_EQ(again.solution.technique, "lift");
  EXPECT_LT(again.solution.work, anew->work / 5);
  EXPECT_LE(static_cast<double>(again.solution.height.value()),
            1.001 * static_cast<double>(again.solution.lower_bound.value()));
  EXPECT_GT(again.kept, 2 * again.moved);
}

TEST(CarryOver, OtherSizesShiftNothingInAJobThatRepeatsItself) {
  const auto lifetimes = find_lifetimes(training_trace(gpt_in_micro_batches(3'000, 12, false)));
  ASSERT_TRUE(lifetimes.ok());
  const Problem& before = lifetimes->problem;
  Solution ordinals;  // each item at an offset of its own
  for (std::size_t i = 0; i < before.items.size(); ++i) ordinals.offsets.emplace_back(512 * i);
  Problem after = before;
  for (std::size_t i = 7; i < after.items.size(); i += 100) after.items[i].size += Bytes(512);
  const auto carried = carry_over(before, ordinals, after);
  for (std::size_t i = 0; i < after.items.size(); ++i) {
    const bool larger = after.items[i].size > before.items[i].size;
    EXPECT_EQ(carried.offsets[i].has_value(), !larger) << i;
    EXPECT_EQ(carried.grown[i].has_value(), larger) << i;
    EXPECT_EQ(larger ? carried.grown[i] : carried.offsets[i], ordinals.offsets[i]) << i;
  }
}

TEST_F(Replan, WhatMustStayStays) {
  Problem changed = problem_;
  ReplanOptions options = quick();
  options.keep_stable.assign(changed.items.size(), false);
  for (std::size_t i = 0; i < changed.items.size(); i += 7) options.keep_stable[i] = true;
  for (std::size_t i = 1; i < changed.items.size(); i += 7)
    changed.items[i].size = changed.items[i].size + changed.items[i].size;
  const Carried old{{solution_.offsets.begin(), solution_.offsets.end()}, {}};
  const Replanned again = replanned(changed, old, solution_.height, options);
  for (std::size_t i = 0; i < changed.items.size(); i += 7)
    EXPECT_EQ(again.solution.offsets[i], solution_.offsets[i]);
}

TEST_F(Replan, NeverMuchHigherThanPlacingAnew) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 5; ++round) {
    Problem changed = problem_;
    for (Item& item : changed.items) {
      if (random() % 3 == 0) item.size = Bytes(512 * (1 + random() % 64));
    }
    const auto old = carry_over(problem_, solution_, changed);
    const Replanned again = replanned(changed, old, Bytes(0), quick());
    const auto anew = place_greedily(changed, quick().greedy);
    ASSERT_TRUE(anew.ok());
    EXPECT_LE(static_cast<double>(again.solution.height.value()),
              1.001 * static_cast<double>(anew->height.value()) + 1);
  }
}

TEST_F(Replan, StableItemsThatCollideAreAnError) {
  const Carried old{{solution_.offsets.begin(), solution_.offsets.end()}, {}};
  ReplanOptions options = quick();
  options.keep_stable.assign(problem_.items.size(), true);
  Problem changed = problem_;
  for (Item& item : changed.items) item.size = Bytes(item.size.value() * 2);
  const auto result = replan(changed, old, Bytes(0), options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find("must stay"), std::string::npos);
  EXPECT_FALSE(replan(changed, {}, Bytes(0), options).ok());
}

TEST(ReplanRandom, ProblemsOfEveryKindStayValid) {
  std::mt19937_64 random(21);
  for (std::uint32_t round = 0; round < 200; ++round) {
    Shape shape;
    shape.items = 1 + random() % 40;
    shape.horizon = 2 + random() % 30;
    shape.cyclic = (round & 1) != 0;
    shape.classes = (round & 2) != 0 ? 3 : 1;
    shape.gaps = (round & 4) != 0 ? 0.4 : 0;
    shape.empty = (round & 8) != 0 ? 0.2 : 0;
    shape.odd_alignment = (round & 16) != 0 ? 0.5 : 0;
    ReplanOptions options;
    options.greedy.limits.work_limit = 100'000;
    const Problem before = random_problem(shape, random);
    const auto solution = place_greedily(before, options.greedy);
    ASSERT_TRUE(solution.ok());
    Problem after = random_problem(shape, random);
    replanned(after, carry_over(before, *solution, after), solution->height, options);
    if (HasFailure()) FAIL() << "round " << round;
  }
}

}  // namespace
}  // namespace stowage::planner::placement
