// Spares by themselves: which dead values are worth keeping, and for how long. With no runtime installed.
#include "recompute/residency/spares.h"

#include <gtest/gtest.h>

#include "recompute/recipe/replay.h"
#include "recompute/residency/replay_plan.h"
#include "tests/recompute/recorded_ops.h"

namespace stowage::recompute {
namespace {

// x -> middle (dead) -> first and second, which are evicted; second -> third.
class SparesTest : public ::testing::Test {
 protected:
  SparesTest() {
    at::Tensor middle = ops_.doubled(x_);
    first_ = ops_.exp_of(middle);
    second_ = ops_.sum_of(middle, x_);
    third_ = ops_.exp_of(second_);
    middle_ = ops_.value_of(middle);
    made_ = copy_storage(middle.storage());
    middle.reset();
    ops_.evict(first_);
    ops_.evict(second_);
  }
  Spares::Wanted wanted_for(const at::Tensor& tensor) {
    const std::uint64_t stamp = ops_.book.next_stamp();
    const ReplayPlan plan = plan_replay(*ops_.value_of(tensor), stamp);
    return spares_.wanted_of(stamp);
  }
  std::size_t droppable() {
    std::size_t count = 0;
    spares_.for_each_droppable([&](const Spares::Spare&) { ++count; });
    return count;
  }
  // Gives its bytes back, as a Rematerializer does.
  void bring_back(const at::Tensor& tensor) {
    StorageRecord& record = ops_.record_of(tensor);
    record.evicted = false;
    StorageBook::release_leaves(record);
  }

  test::RecordedOps ops_;
  Spares spares_{ops_.book, ops_.neighbours};
  const at::Tensor x_ = at::arange(16, at::kFloat);
  at::Tensor first_, second_, third_;
  Ref<Value> middle_;
  c10::Storage made_;
};

TEST_F(SparesTest, WantedIsADeadValueThatAnotherEvictedOneStartsFrom) {
  ops_.record_of(second_).last_use = 7;
  const Spares::Wanted wanted = wanted_for(first_);
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted.at(middle_.get()), 7u);
  bring_back(second_);
  EXPECT_TRUE(wanted_for(first_).empty());
}

TEST_F(SparesTest, WhoIsWantedFirstCounts) {
  ops_.evict(third_);
  ops_.record_of(second_).last_use = 7;
  ops_.record_of(third_).last_use = 9;
  EXPECT_EQ(wanted_for(first_).at(middle_.get()), 9u);
}

TEST_F(SparesTest, NothingIsWantedWhereNoMoreAreKept) {
  spares_.keep_more(false);
  EXPECT_TRUE(wanted_for(first_).empty());
}

TEST_F(SparesTest, KeptIsInMemoryAndCostsNothingToMake) {
  EXPECT_FALSE(materialised(*middle_));
  EXPECT_GE(ops_.neighbours.set_of(*middle_), 0);
  spares_.keep(*middle_, made_, 1);
  EXPECT_TRUE(materialised(*middle_));
  EXPECT_EQ(ops_.neighbours.set_of(*middle_), -1);
  EXPECT_EQ(plan_replay(*ops_.value_of(first_), ops_.book.next_stamp()).steps.size(), 1u);
}

TEST_F(SparesTest, DroppedIsToBeMadeAgain) {
  spares_.keep(*middle_, made_, 1);
  made_ = c10::Storage();
  EXPECT_EQ(droppable(), 1u);
  spares_.drop(*middle_);
  EXPECT_TRUE(spares_.empty());
  EXPECT_FALSE(materialised(*middle_));
  EXPECT_GE(ops_.neighbours.set_of(*middle_), 0);
  EXPECT_EQ(plan_replay(*ops_.value_of(first_), ops_.book.next_stamp()).steps.size(), 2u);
}

TEST_F(SparesTest, WhatSomebodyReadsCannotBeDroppedNow) {
  spares_.keep(*middle_, made_, 1);
  EXPECT_EQ(droppable(), 0u) << "made_ holds its bytes";
  made_ = c10::Storage();
  EXPECT_EQ(droppable(), 1u);
}

TEST_F(SparesTest, GoesWhenNoEvictedValueStartsFromItAnyMore) {
  spares_.keep(*middle_, made_, 1);
  bring_back(first_);
  spares_.drop_unwanted();
  EXPECT_FALSE(spares_.empty()) << "second is away";
  bring_back(second_);
  spares_.drop_unwanted();
  EXPECT_TRUE(spares_.empty());
  EXPECT_FALSE(middle_->kept);
}

TEST_F(SparesTest, LeavesAreNoSpares) {
  spares_.keep(*ops_.value_of(x_), made_, 1);
  EXPECT_TRUE(spares_.empty());
}

}  // namespace
}  // namespace stowage::recompute
