#include "planner/kinds/repair.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/joint_planner.h"
#include "planner/placement/problem/validator.h"
#include "planner/placement/solve.h"
#include "tests/planner/kinds/automata.h"
#include "tests/planner/training_traces.h"

namespace stowage::planner {
namespace {

using placement::Item;
using placement::Problem;
using placement::Solution;

constexpr Bytes kAny{std::uint64_t{1} << 40};

Bytes granules_of(std::uint64_t count) { return Bytes(kGranule.value() * count); }

Item item(std::uint64_t birth, std::uint64_t death, std::uint64_t granules, std::uint32_t stream = 0) {
  Item made;
  made.birth = birth;
  made.death = death;
  made.size = granules_of(granules);
  made.stream_class = stream;
  return made;
}

Offset at(std::uint64_t granules) { return Offset(kGranule.value() * granules); }

Solution repaired(const Problem& problem, const Former& were, Bytes enough = kAny) {
  Result<Solution> made = repair(problem, were, enough, {});
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
  if (!made.ok()) return {};
  EXPECT_TRUE(placement::validate_placement(problem, *made).ok());
  return *std::move(made);
}

std::size_t stayed(const Solution& solution, const Former& were) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < were.size(); ++i) count += were[i] == solution.offsets[i] ? 1 : 0;
  return count;
}

/// A placed iteration, and many small tensors that came to stay in the middle of it.
struct Tenanted {
  JointProblem before;
  JointProblem after;
  Former were;
};

Tenanted tenanted(std::uint64_t seed, std::uint64_t tenants) {
  Kinds kinds = kinds_of(training_trace(random_job(600, seed), 4));
  const std::vector<bool> all(kinds.kinds.size(), true);
  Tenanted made{joint_problem(kinds, all, {}), {}, {}};
  const Result<Solution> placed = placement::place(made.before.problem, {});
  EXPECT_TRUE(placed.ok());
  std::vector<Tenant> stay;
  const std::uint64_t step = placed->height.value() / kGranule.value() / (tenants + 1);
  for (std::uint64_t i = 1; i <= tenants; ++i) stay.push_back({at(i * step), kGranule, StreamId(0)});
  made.after = joint_problem(kinds, all, stay);
  made.were.assign(placed->offsets.begin(), placed->offsets.end());
  made.were.resize(made.after.problem.items.size());
  return made;
}

bool touches_a_tenant(const Tenanted& job, std::size_t i) {
  const Offset begin = *job.were[i], end = begin + job.after.problem.items[i].size;
  for (std::size_t t = job.after.slots.size(); t < job.after.problem.items.size(); ++t) {
    const Item& tenant = job.after.problem.items[t];
    if (*tenant.fixed < end && begin < *tenant.fixed + tenant.size) return true;
  }
  return false;
}

TEST(Repair, WhatIsNotInATenantsWayStaysWhereItWas) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Tenanted job = tenanted(seed, 4 * seed);
    const Solution made = repaired(job.after.problem, job.were);
    std::size_t displaced = 0;
    for (std::size_t i = 0; i < job.after.slots.size(); ++i) {
      if (touches_a_tenant(job, i))
        ++displaced;
      else
        EXPECT_EQ(made.offsets[i], *job.were[i]) << "seed " << seed << ", item " << i;
    }
    EXPECT_GT(displaced, 0u);
  }
}

TEST(Repair, IsTheSameEveryTime) {
  const Tenanted job = tenanted(3, 40);
  const Solution once = repaired(job.after.problem, job.were);
  EXPECT_EQ(repaired(job.after.problem, job.were).offsets, once.offsets);
}

TEST(Repair, NothingMovesWhereNothingIsInTheWay) {
  const Tenanted job = tenanted(5, 1);
  Former were = job.were;
  were.resize(job.before.problem.items.size());
  EXPECT_EQ(stayed(repaired(job.before.problem, were), were), were.size());
}

TEST(Repair, OfTwoThatMeetByWhatIsKnownNowOneStays) {
  Problem problem;
  problem.items = {item(0, 5, 2), item(4, 9, 2), item(6, 9, 2)};  // the first lived until 4 so far
  const Former were{at(0), at(0), at(2)};
  const Solution made = repaired(problem, were);
  EXPECT_EQ(stayed(made, were), 2u);
  EXPECT_EQ(made.height, granules_of(6));
}

TEST(Repair, NeighboursMoveOnlyWhereTheResultIsTooHigh) {
  Problem problem;
  problem.items = {item(0, 4, 1), item(0, 4, 3)};
  for (std::uint64_t k = 0; k < 30; ++k) problem.items.push_back(item(10 + k, 11 + k, 1));
  Former were(problem.items.size(), at(0));
  were[1] = at(1);
  problem.items.push_back(item(0, 50, 1));  // a tenant in the way of the large one
  problem.items.back().fixed = at(3);
  were.emplace_back();
  const Solution tolerable = repaired(problem, were), lower = repaired(problem, were, granules_of(5));
  EXPECT_EQ(tolerable.height, granules_of(7));
  EXPECT_EQ(tolerable.offsets[0], at(0));
  EXPECT_EQ(lower.height, granules_of(5));
  EXPECT_EQ(stayed(lower, were), 30u);
}

TEST(Repair, KeepsOutOfOtherStreamsAddresses) {
  Problem problem;
  problem.items = {item(0, 4, 2), item(0, 4, 2, 1), item(5, 9, 1)};
  Item tenant = item(0, 9, 1, 1);
  tenant.fixed = at(0);
  problem.items.push_back(tenant);
  problem.regions = {{0, at(4), granules_of(2)}, {1, at(0), granules_of(1)}};
  const Former were{at(0), at(2), at(4), {}};  // the first where another stream's tensor came to stay
  const Solution made = repaired(problem, were);
  EXPECT_NE(made.offsets[0], at(0));
  EXPECT_EQ(made.offsets[1], at(2));
  EXPECT_EQ(made.offsets[2], at(4));
}

TEST(Repair, IsTheFirstAnswerWherePlansAreTolerable) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Kinds kinds = kinds_of(trace_of(run_automaton(seed)));
    JointOptions options = patient();
    const Result<JointPlan> before = make_plans(kinds, options);
    ASSERT_TRUE(before.ok());
    options.in_use = before->plans;
    options.tenants = {
        {Offset(before->height.value() / 2 / kGranule.value() * kGranule.value()), kGranule, StreamId(0)}};
    options.tolerable = before->height + before->height;
    const Result<JointPlan> made = make_plans(kinds, options);
    ASSERT_TRUE(made.ok());
    ASSERT_EQ(made->plans.size(), before->plans.size()) << "seed " << seed;
    std::size_t moved = 0, touched = 0;
    const Offset low = options.tenants[0].offset, high = low + kGranule;
    for (std::size_t p = 0; p < made->plans.size(); ++p) {
      for (std::size_t k = 0; k < made->plans[p].entries.size(); ++k) {
        const PlanEntry &was = before->plans[p].entries[k], &is = made->plans[p].entries[k];
        const auto touches = [&](Offset offset) {
          return offset != kUpstream && offset < high && low < offset + was.rounded;
        };
        moved += was.offset != is.offset ? 1 : 0;
        touched += touches(was.offset) ? 1 : 0;
      }
    }
    EXPECT_EQ(moved, touched) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stowage::planner
