#include "planner/placement/proofs/fragments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "planner/placement/proofs/raised_bound.h"
#include "planner/placement/solve.h"
#include "tests/planner/placement/proofs/items.h"

namespace stowage::planner::placement {
namespace {

Item fixed(std::uint64_t offset, std::uint64_t size, std::uint64_t death = 10) {
  Item made = item(0, death, size);
  made.fixed = Offset(offset);
  return made;
}

TEST(FragmentBound, AHoleHoldsNoMoreThanWholeBuffers) {
  Problem problem;
  problem.items = {fixed(15, 1), fixed(31, 1)};  // holes of 15 and 15: one buffer each
  for (int i = 0; i < 4; ++i) problem.items.push_back(item(0, 10, 10));
  EXPECT_EQ(lower_bound(problem), Bytes(42));
  EXPECT_EQ(raised_bound(problem), Bytes(52));
  EXPECT_EQ(place(problem, {})->height, Bytes(52));
}

TEST(FragmentBound, WhatIsFixedForATimeMakesNoHole) {
  Problem problem;
  problem.items = {fixed(15, 1, 5)};
  for (int i = 0; i < 2; ++i) problem.items.push_back(item(5, 10, 10));
  EXPECT_EQ(raised_bound(problem), Bytes(20));
}

TEST(FragmentBound, OtherStreamsAddressesCount) {
  Problem problem;
  problem.items = {item(0, 10, 10), item(0, 10, 10), item(0, 10, 1)};
  problem.items[2].stream_class = 1;
  problem.items[2].fixed = Offset(15);
  EXPECT_EQ(raised_bound(problem), Bytes(26));
  problem.regions = {{1, Offset(15), Bytes(5)}};
  EXPECT_EQ(raised_bound(problem), Bytes(30));
}

TEST(FragmentBound, EqualsTheLiveBytesWhereNothingIsFixed) {
  Problem problem;
  problem.items = {item(0, 4, 3), item(2, 6, 5), item(5, 9, 4)};
  EXPECT_EQ(raised_bound(problem), lower_bound(problem));
}

TEST(FragmentBound, IsNeverAboveAPlacement) {
  int raised = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t most) { return random() % most; };
    Problem problem;
    problem.period = seed % 2 == 0 ? 40 : 0;
    std::uint64_t at = 0;
    for (std::uint32_t i = below(8); i > 0; --i) {
      at += 1 + below(12);
      problem.items.push_back(fixed(at++, 1, below(4) == 0 ? 20 : 40));
    }
    for (std::uint32_t i = 4 + below(20); i > 0; --i) {
      const std::uint64_t birth = below(30);
      problem.items.push_back(item(birth, birth + 1 + below(seed % 2 == 0 ? 30 : 10), 1 + below(9)));
    }
    const Bytes bound = raised_bound(problem);
    PlaceOptions options;
    options.work_limit = 1'000'000;
    const Result<Solution> placed = place(problem, options);
    ASSERT_TRUE(placed.ok());
    EXPECT_LE(bound, placed->height) << "seed " << seed;
    raised += bound > lower_bound(problem) ? 1 : 0;
  }
  EXPECT_GT(raised, 20);
}

// As in a job that loads a checkpoint: large tensors, nearly all powers of two, and dozens of small ones that
// stay among them.
TEST(FragmentBound, ManyTenantsLeaveAPlacementNearTheBound) {
  constexpr std::uint64_t kMiB = 1u << 20;
  double sum = 0, live = 0;
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    Problem problem;
    for (std::uint64_t k = 0; k < 200; ++k) {
      const std::uint64_t size = kMiB << random() % 5;
      problem.items.push_back(item(k, 500 - k, size));                        // an activation
      problem.items.push_back(item(k, k + 2, kMiB << random() % 5));          // a workspace
      problem.items.push_back(item(499 - k, 502 - k, size));                  // a gradient
      problem.items.push_back(item(k, 500 - k, 512 * (1 + random() % 200)));  // statistics
    }
    const std::uint64_t height = lower_bound(problem).value();
    for (int i = 0; i < 64; ++i) {
      Item tenant = fixed(random() % (height / 512) * 512, 512, 502);
      problem.items.push_back(tenant);
    }
    std::sort(problem.items.end() - 64, problem.items.end(),
              [](const Item& a, const Item& b) { return a.fixed < b.fixed; });
    PlaceOptions options;
    options.work_limit = 100'000'000;
    const Result<Solution> placed = place(problem, options);
    ASSERT_TRUE(placed.ok()) << placed.error().message;
    const double ratio =
        static_cast<double>(placed->height.value()) / static_cast<double>(raised_bound(problem).value());
    sum += ratio;
    live += static_cast<double>(placed->height.value()) / static_cast<double>(height);
  }
  EXPECT_LE(sum / 8, 1.01);
  EXPECT_GT(live / 8, 1.015);  // what the live bytes alone would say
}

}  // namespace
}  // namespace stowage::planner::placement
