// Plans of what to run again, and their running: on a book of small CPU tensors, with no runtime installed.
#include "recompute/residency/rematerializer.h"

#include <gtest/gtest.h>

#include "recompute/residency/replay_plan.h"
#include "recompute/residency/spares.h"
#include "tests/recompute/recorded_ops.h"

namespace stowage::recompute {
namespace {

class RematerializerTest : public ::testing::Test {
 protected:
  ReplayPlan plan_of(const at::Tensor& tensor) {
    return plan_replay(*ops_.value_of(tensor), ops_.book.next_stamp());
  }
  void restore(const at::Tensor& tensor) { rematerializer_.restore(ops_.record_of(tensor)); }
  [[nodiscard]] std::uint64_t replays() const { return ops_.counter.counts().replays; }

  test::RecordedOps ops_;
  Spares spares_{ops_.book, ops_.neighbours};
  Rematerializer rematerializer_{ops_.book,      ops_.neighbours, spares_,
                                 ops_.offloader, ops_.counter,    ops_.rescue};
  const at::Tensor x_ = at::arange(16, at::kFloat);
};

TEST_F(RematerializerTest, PlanStartsFromWhatIsThere) {
  const at::Tensor a = ops_.doubled(x_);
  const at::Tensor b = ops_.exp_of(a);
  const at::Tensor c = ops_.exp_of(b);
  ops_.evict(c);
  EXPECT_EQ(plan_of(c).steps.size(), 1u);
  ops_.evict(b);
  ops_.evict(a);
  const ReplayPlan plan = plan_of(c);
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_TRUE(plan.steps[0] == ops_.value_of(a)->recipe);
  EXPECT_TRUE(plan.steps[2] == ops_.value_of(c)->recipe);
  EXPECT_EQ(plan.uses.at(ops_.value_of(a).get()), 1u);
  EXPECT_FALSE(plan.uses.contains(ops_.value_of(x_).get())) << "it is there";
}

TEST_F(RematerializerTest, PlanHasEachOpOnceAndCountsWhoReadsIt) {
  const at::Tensor a = ops_.exp_of(x_);
  const at::Tensor left = ops_.run("aten::neg", "", {a});
  const at::Tensor right = ops_.exp_of(a);
  const at::Tensor top = ops_.sum_of(left, right);
  for (const at::Tensor& one : {top, left, right, a}) ops_.evict(one);
  const ReplayPlan plan = plan_of(top);
  EXPECT_EQ(plan.steps.size(), 4u);
  EXPECT_EQ(plan.uses.at(ops_.value_of(a).get()), 2u);
}

TEST_F(RematerializerTest, PlanOfALongChainNeedsNoDeepStack) {
  constexpr int kOps = 20'000;
  at::Tensor last = x_;
  for (int i = 0; i < kOps; ++i) last = ops_.exp_of(last);  // all but the last are dead
  ops_.evict(last);
  EXPECT_EQ(plan_of(last).steps.size(), std::size_t{kOps});
}

TEST_F(RematerializerTest, PlanFromALostLeafIsAnError) {
  at::Tensor leaf = x_.clone();
  const at::Tensor a = ops_.exp_of(leaf);
  leaf.reset();
  EXPECT_THROW(static_cast<void>(plan_of(a)), c10::Error);
}

TEST_F(RematerializerTest, BringsBackTheBitsInTheSameStorage) {
  const at::Tensor a = ops_.exp_of(x_);
  const at::Tensor b = ops_.doubled(a);
  const at::Tensor view = b.view({4, 4});
  const at::Tensor expected = b.clone();
  ops_.evict(a);
  ops_.evict(b);
  restore(b);
  EXPECT_TRUE(at::equal(b, expected));
  EXPECT_TRUE(at::equal(view, expected.view({4, 4})));
  EXPECT_FALSE(ops_.record_of(b).evicted);
  EXPECT_FALSE(ops_.record_of(a).evicted) << "it was made on the way, and its home is there";
  EXPECT_EQ(replays(), 2u);
  EXPECT_EQ(ops_.counter.counts().restores, 2u);
  EXPECT_FALSE(ops_.counter.any_away());
  EXPECT_EQ(ops_.value_of(x_)->anchors, 0u);
}

TEST_F(RematerializerTest, WhatIsThereIsLeftAlone) {
  const at::Tensor a = ops_.exp_of(x_);
  restore(a);
  EXPECT_EQ(replays(), 0u);
}

TEST_F(RematerializerTest, AllOutputsComeBackTogether) {
  const std::vector<at::Tensor> both = ops_.run_all("aten::max", "dim", {x_.view({4, 4}), 1, false});
  const at::Tensor values = both[0].clone();
  const at::Tensor indices = both[1].clone();
  for (const at::Tensor& one : both) ops_.evict(one);
  restore(both[1]);
  EXPECT_TRUE(at::equal(both[0], values));
  EXPECT_TRUE(at::equal(both[1], indices));
  EXPECT_EQ(replays(), 1u);
}

TEST_F(RematerializerTest, InPlaceOpsRunOnMemoryOfTheirOwn) {
  const at::Tensor y = ops_.doubled(x_);
  const at::Tensor before = ops_.exp_of(y);
  ops_.run("aten::add_", "Tensor", {y, x_, 1});
  const at::Tensor after = ops_.sum_of(y, before);
  const at::Tensor expected = after.clone();
  const at::Tensor leaf = x_.clone();
  for (const at::Tensor& one : {after, y, before}) ops_.evict(one);
  restore(after);  // the version that add_ starts from is read by exp besides, and later
  EXPECT_TRUE(at::equal(after, expected));
  EXPECT_TRUE(at::equal(y, at::mul(leaf, 2) + leaf));
  EXPECT_TRUE(at::equal(before, at::exp(at::mul(leaf, 2))));
  EXPECT_TRUE(at::equal(x_, leaf));
}

class DeadInTheMiddle : public RematerializerTest {
 protected:
  DeadInTheMiddle() {
    const at::Tensor middle = ops_.doubled(x_);
    first_ = ops_.exp_of(middle);
    second_ = ops_.sum_of(middle, x_);
  }
  void evict_and_restore_both() {
    const at::Tensor first = first_.clone();
    const at::Tensor second = second_.clone();
    ops_.evict(first_);
    ops_.evict(second_);
    restore(first_);
    kept_ = !spares_.empty();
    restore(second_);
    EXPECT_TRUE(at::equal(first_, first));
    EXPECT_TRUE(at::equal(second_, second));
  }

  at::Tensor first_, second_;
  bool kept_ = false;
};

TEST_F(DeadInTheMiddle, StaysWhileAnotherStartsFromIt) {
  evict_and_restore_both();
  EXPECT_TRUE(kept_);
  EXPECT_EQ(replays(), 3u);
  spares_.drop_unwanted();
  EXPECT_TRUE(spares_.empty());
}

TEST_F(DeadInTheMiddle, IsMadeTwiceWhereNoMoreAreKept) {
  spares_.keep_more(false);
  evict_and_restore_both();
  EXPECT_FALSE(kept_);
  EXPECT_EQ(replays(), 4u);
}

}  // namespace
}  // namespace stowage::recompute
