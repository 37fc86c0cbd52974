// The states of core/runtime/residency_contract.h as the runtime has them; tests/planner/schedule_test.cc has
// the model's.
#include <gtest/gtest.h>

#include "recompute/away/guard_range.h"
#include "recompute/residency/residency.h"
#include "tests/recompute/recorded_ops.h"

namespace stowage::recompute {
namespace {

class ValueStates : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(reserve_guard_range().ok()); }
  bool evict(const at::Tensor& tensor) { return residency_.evict(ops_.record_of(tensor)); }
  ValueState state(const at::Tensor& tensor) { return state_of(*ops_.value_of(tensor)); }

  test::RecordedOps ops_;
  Residency residency_{ops_.book, ops_.stores};
  at::Tensor leaf_ = at::arange(64, at::kFloat);
  at::Tensor a_ = ops_.doubled(leaf_);
};

TEST_F(ValueStates, EvictedAndBack) {
  const at::Tensor expected = a_.clone();
  EXPECT_EQ(state(a_), ValueState::kResident);
  ASSERT_TRUE(evict(a_));
  EXPECT_EQ(state(a_), ValueState::kEvicted);
  EXPECT_EQ(state(leaf_), ValueState::kResident);
  residency_.restore(ops_.record_of(a_));
  EXPECT_EQ(state(a_), ValueState::kResident);
  EXPECT_TRUE(at::equal(a_, expected));
}

TEST_F(ValueStates, DeadAndLost) {
  const at::Tensor b = ops_.exp_of(a_);
  const Ref<Value> a = ops_.value_of(a_);
  const Ref<Value> leaf = ops_.value_of(leaf_);
  a_.reset();
  EXPECT_EQ(state_of(*a), ValueState::kDead);
  leaf_.reset();
  EXPECT_EQ(state_of(*leaf), ValueState::kLost);
  EXPECT_FALSE(evict(b)) << "nothing can make it again";
  EXPECT_FALSE(ops_.value_of(b)->recipe) << "it is where recomputation starts from";
}

TEST_F(ValueStates, AnAnchoredLeafOutlivesTheJobsTensor) {
  ASSERT_TRUE(evict(a_));
  const Ref<Value> leaf = ops_.value_of(leaf_);
  leaf_.reset();
  EXPECT_EQ(state_of(*leaf), ValueState::kResident);
  residency_.restore(ops_.record_of(a_));
  EXPECT_EQ(state_of(*leaf), ValueState::kLost);
}

TEST_F(ValueStates, AWriteFreezesAndCloses) {
  const at::Tensor b = ops_.exp_of(a_);
  ASSERT_TRUE(evict(b));
  StorageRecord& record = ops_.record_of(leaf_);
  residency_.before_write(record, true);
  EXPECT_EQ(state(b), ValueState::kResident) << "it starts from what is about to be written";
  EXPECT_EQ(record.current->write, WriteState::kFrozen);
  EXPECT_EQ(state(leaf_), ValueState::kResident);
  EXPECT_FALSE(evict(b));
  advance(record.current->write, WriteState::kClosing);
  EXPECT_EQ(state(leaf_), ValueState::kClosing);
  residency_.before_write(record, true);
  EXPECT_EQ(state(leaf_), ValueState::kClosing) << "a value is never opened again";
}

TEST_F(ValueStates, AKeptCopyLastsAsLongAsSomethingStartsFromIt) {
  const at::Tensor expected = a_.clone();
  ASSERT_TRUE(evict(a_));
  const Ref<Value> content = ops_.value_of(leaf_);
  residency_.before_write(ops_.record_of(leaf_), false);
  EXPECT_EQ(state_of(*content), ValueState::kKept);
  EXPECT_EQ(state(a_), ValueState::kEvicted);
  leaf_.fill_(7);
  residency_.restore(ops_.record_of(a_));
  EXPECT_TRUE(at::equal(a_, expected));
  EXPECT_EQ(state_of(*content), ValueState::kLost);
}

}  // namespace
}  // namespace stowage::recompute
