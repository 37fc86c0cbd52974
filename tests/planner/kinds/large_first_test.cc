#include "planner/kinds/large_first.h"

#include <gtest/gtest.h>

#include "planner/joint_planner.h"
#include "tests/planner/kinds/automata.h"
#include "tests/planner/trace_builder.h"

namespace stowage::planner {
namespace {

using placement::Gap;
using placement::Item;
using placement::Problem;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

Item item(std::uint64_t birth, std::uint64_t death, std::uint64_t size) {
  Item made;
  made.birth = birth;
  made.death = death;
  made.size = Bytes(size);
  return made;
}

TEST(LargeFirst, ThePartHasWhatIsLargeOrFixedAndTheirGaps) {
  Problem problem;
  problem.items = {item(0, 9, 512), item(0, 9, 4 * kMib), item(2, 4, 1024), item(1, 9, 2 * kMib)};
  problem.items[2].fixed = Offset(8 * kMib);
  problem.gaps = {{0, 1, 2, Bytes(0), Bytes(0)}, {3, 5, 6, Bytes(0), Bytes(0)}};
  const auto large = large_part(problem, lower_bound(problem));
  ASSERT_TRUE(large.has_value());
  EXPECT_EQ(large->items, (std::vector<std::uint32_t>{1, 2, 3}));
  ASSERT_EQ(large->problem.items.size(), 3u);
  EXPECT_EQ(large->problem.items[1].fixed, Offset(8 * kMib));
  ASSERT_EQ(large->problem.gaps.size(), 1u);
  EXPECT_EQ(large->problem.gaps[0].item, 2u);
  EXPECT_EQ(large->problem.gaps[0].begin, 5u);
  EXPECT_EQ(large->bound_of_rest, Bytes(512));
}

TEST(LargeFirst, ThereIsNoneWhereTheOthersNeedAsMuchAtAnotherTimeOrThereAreNoOthers) {
  Problem problem;
  problem.items = {item(0, 1, 4 * kMib)};
  for (int i = 0; i < 2000; ++i) problem.items.push_back(item(1, 2, 512));
  EXPECT_FALSE(large_part(problem, lower_bound(problem)).has_value());
  problem.items = {item(0, 2, kMib), item(1, 3, kMib)};
  EXPECT_FALSE(large_part(problem, lower_bound(problem)).has_value());
}

/// A transformer's layers: attention and two linear layers, forward and backward, with small buffers between
/// them. The loop holds its batch, which is no multiple of what the layers need, until the next one is there.
class Transformer {
 public:
  Trace train(int iterations) {
    for (int i = 0; i < iterations; ++i) {
      const std::uint32_t batch = job_.alloc(11 * kUnit + kUnit * 4 / 5);
      if (before_) job_.free(*before_);
      before_ = batch;
      for (int layer = 0; layer < kLayers; ++layer) forward();
      while (!kept_.empty()) backward();
      job_.mark();
    }
    return job_.take(Tick(0), Tick(1), job_.now());
  }

 private:
  static constexpr std::uint64_t kUnit = 260 * 4096;
  static constexpr int kLayers = 6;

  void keep(std::uint64_t bytes) { kept_.push_back(job_.alloc(bytes)); }
  void forward() {
    keep(kUnit);
    keep(512);
    keep(3 * kUnit);
    const std::uint32_t scratch = job_.alloc(3 * kUnit);
    keep(kUnit);
    keep(16384);
    job_.free(scratch);
    keep(kUnit);
    keep(1024);
    const std::uint32_t wide = job_.alloc(4 * kUnit - 20480);
    keep(3 * kUnit);
    job_.free(wide);
  }
  void backward() {
    const std::uint32_t gradient = job_.alloc(3 * kUnit), bias = job_.alloc(2048);
    job_.free(kept_.back());
    kept_.pop_back();
    const std::uint32_t other = job_.alloc(kUnit);
    job_.free(gradient);
    job_.free(bias);
    job_.free(other);
  }

  TraceBuilder job_;
  std::optional<std::uint32_t> before_;
  std::vector<std::uint32_t> kept_;
};

TEST(LargeFirst, ManySmallBuffersBetweenTheLayersKeepNoPlanFromItsBound) {
  JointOptions options = patient(100'000'000);
  const Kinds kinds = kinds_of(Transformer().train(8));
  Result<JointPlan> made = make_plans(kinds, options);
  ASSERT_TRUE(made.ok());
  options.in_use = made->plans;  // a first one may save half of what twins can
  made = make_plans(kinds, options);
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made->plans.size(), 2u);
  EXPECT_LE(made->height.value(), made->lower_bound.value() * 1005 / 1000);
}

}  // namespace
}  // namespace stowage::planner
