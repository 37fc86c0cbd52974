#include "planner/kinds/received_plans.h"

#include <gtest/gtest.h>

#include <utility>

#include "planner/joint_planner.h"
#include "tests/planner/kinds/automata.h"

namespace stowage::planner {
namespace {

struct ReceivedPlans : testing::Test {
  Result<JointPlan> accept(std::vector<Plan> plans) const {
    return accept_plans(kinds, options.device, options.in_use, options.tenants, options.claimed,
                        std::move(plans));
  }
  /// The first two entries of one plan that lie in the arena.
  static std::pair<std::size_t, std::size_t> two_placed(const Plan& plan) {
    std::size_t first = 0;
    while (plan.entries[first].offset == kUpstream) ++first;
    std::size_t second = first + 1;
    while (plan.entries[second].offset == kUpstream) ++second;
    return {first, second};
  }
  Kinds kinds = kinds_of(trace_of(run_automaton(5)));
  JointOptions options = patient(2'000'000);
  JointPlan made = *make_plans(kinds, options);
};

TEST_F(ReceivedPlans, WhatThePlannerMakesIsAccepted) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    kinds = kinds_of(trace_of(run_automaton(seed)));
    made = *make_plans(kinds, options);
    const Result<JointPlan> accepted = accept(made.plans);
    ASSERT_TRUE(accepted.ok()) << seed << ": " << accepted.error().message;
    EXPECT_EQ(*accepted, made);
  }
}

TEST_F(ReceivedPlans, SoAreThoseAroundTenantsAndPlansInUse) {
  options.in_use = made.plans;
  options.tenants = {{Offset(made.height.value()), Bytes(4096), StreamId(0)}};
  const JointPlan around = *make_plans(kinds, options);
  const Result<JointPlan> accepted = accept(around.plans);
  ASSERT_TRUE(accepted.ok()) << accepted.error().message;
  EXPECT_EQ(*accepted, around);
  std::size_t k = 0;
  while (around.plans[0].entries[k].offset == kUpstream) ++k;
  options.tenants = {{around.plans[0].entries[k].offset, Bytes(512), StreamId(0)}};
  EXPECT_FALSE(accept(around.plans).ok()) << "a tenant lives there";
}

TEST_F(ReceivedPlans, AllButTheOffsetsIsOfThisProcess) {
  std::vector<Plan> plans = made.plans;
  for (Plan& plan : plans) {
    plan.height = plan.lower_bound = Bytes(0);
    plan.proved_optimal = true;
    for (PlanEntry& entry : plan.entries) {
      entry.death ^= 1;
      entry.crosses = !entry.crosses;
      if (entry.offset != kUpstream && entry.spare == kUpstream) entry.spare = Offset(0);
    }
  }
  const Result<JointPlan> accepted = accept(plans);
  ASSERT_TRUE(accepted.ok()) << accepted.error().message;
  EXPECT_EQ(*accepted, made);
}

TEST_F(ReceivedPlans, AnythingElseIsRefused) {
  const auto refused = [&](auto change) {
    std::vector<Plan> plans = made.plans;
    change(plans);
    const Result<JointPlan> accepted = accept(plans);
    return !accepted.ok() && accepted.error().code == ErrorCode::kInvalidPlan;
  };
  ASSERT_GT(made.plans.size(), 1u);
  const auto [one, other] = two_placed(made.plans[0]);
  EXPECT_TRUE(refused([](auto& plans) { plans.clear(); }));
  EXPECT_TRUE(refused([](auto& plans) { plans.pop_back(); }));
  EXPECT_TRUE(refused([](auto& plans) { std::swap(plans[0], plans[1]); }));
  EXPECT_TRUE(refused([](auto& plans) { plans[0].fingerprint ^= 1; }));
  EXPECT_TRUE(refused([](auto& plans) { plans[0].device = DeviceKind::kCuda; }));
  EXPECT_TRUE(refused([](auto& plans) { plans[0].inner_marks = {1}; }));
  EXPECT_TRUE(refused([](auto& plans) { plans[0].entries.pop_back(); }));
  EXPECT_TRUE(refused([&, k = one](auto& plans) { plans[0].entries[k].rounded += Bytes(512); }));
  EXPECT_TRUE(refused([&, k = one](auto& plans) { plans[0].entries[k].stream = StreamId(1); }));
  EXPECT_TRUE(refused([&, k = one](auto& plans) { plans[0].entries[k].offset = kUpstream; }));
  EXPECT_TRUE(refused([&, k = one](auto& plans) { plans[0].entries[k].offset = Offset(1); }));
  EXPECT_TRUE(
      refused([&, k = one](auto& plans) { plans[0].entries[k].offset = Offset(std::uint64_t{1} << 62); }));
}

TEST_F(ReceivedPlans, PlacesThatOverlapAreRefused) {
  int overlaps = 0;
  for (std::size_t k = 1; k < made.plans[0].entries.size(); ++k) {
    std::vector<Plan> plans = made.plans;
    PlanEntry& entry = plans[0].entries[k];
    const PlanEntry& before = plans[0].entries[k - 1];
    if (entry.offset == kUpstream || before.offset == kUpstream || before.death <= k) continue;
    entry.offset = before.offset;  // of what is still alive
    EXPECT_FALSE(accept(plans).ok()) << k;
    ++overlaps;
  }
  EXPECT_GT(overlaps, 0);
}

// Threads of other libraries free when they please: a buffer lives a little longer here than there.
TEST_F(ReceivedPlans, LongerLifetimesAreAcceptedWhereTheOffsetsHold) {
  Kinds longer = kinds;
  int accepted = 0;
  int refused = 0;
  for (std::size_t k = 0; k + 2 < kinds.kinds[0].allocations.size(); ++k) {
    Allocation& one = longer.kinds[0].allocations[k];
    if (one.crosses || one.death + 1 >= longer.kinds[0].allocations.size()) continue;
    ++one.death;
    const Result<JointPlan> got = accept_plans(longer, options.device, {}, {}, {}, made.plans);
    ++(got.ok() ? accepted : refused);
    if (got.ok()) {
      EXPECT_EQ(got->plans[0].entries[k].death, one.death);
    }
    --one.death;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace stowage::planner
