// What an optimizer's step allocates for its state is told from its scratch.
#include "tracer/observers/factory_ops.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace stowage::tracer {
namespace {

/// The CPU's allocator, which notes of each allocation whether a factory made it.
class NotingAllocator final : public c10::Allocator {
 public:
  NotingAllocator() : upstream_(c10::GetAllocator(c10::kCPU)) { c10::SetAllocator(c10::kCPU, this, 255); }
  ~NotingAllocator() override { c10::SetAllocator(c10::kCPU, upstream_, 255); }
  c10::DataPtr allocate(std::size_t bytes) override {
    made_by_factory.push_back(in_factory_op());
    return upstream_->allocate(bytes);
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  mutable std::vector<bool> made_by_factory;

 private:
  c10::Allocator* upstream_;
};

std::vector<bool> allocations_of(const std::function<at::Tensor()>& work) {
  NotingAllocator allocator;
  work();
  return allocator.made_by_factory;
}

struct FactoryOps : testing::Test {
  FactoryOps() { watch_factory_ops(true); }
  ~FactoryOps() override { watch_factory_ops(false); }
  at::Tensor x = at::ones({64, 64});
};

TEST_F(FactoryOps, TensorsOfTheirOwnAreFactories) {
  const std::vector<bool> one{true};
  EXPECT_EQ(allocations_of([&] { return at::zeros_like(x); }), one);
  EXPECT_EQ(allocations_of([&] { return x.clone(); }), one);
  EXPECT_EQ(allocations_of([&] { return at::zeros({3, 3}); }), one);
  EXPECT_EQ(allocations_of([&] { return at::full_like(x, 0.5); }), one);
}

TEST_F(FactoryOps, ArithmeticIsNotForOneTensorNorForLists) {
  for (const bool made : allocations_of([&] { return (x.sqrt() + 1).div(2.0); })) EXPECT_FALSE(made);
  for (const bool made : allocations_of([&] { return at::_foreach_sqrt({x, x})[0]; })) EXPECT_FALSE(made);
}

TEST_F(FactoryOps, AnOpThatThrowsLeavesNothingBehind) {
  EXPECT_THROW(at::zeros({-1}), c10::Error);
  EXPECT_FALSE(in_factory_op());
}

TEST(FactoryOpsUnwatched, NothingIsSaid) {
  const at::Tensor x = at::ones({8});
  EXPECT_EQ(allocations_of([&] { return at::zeros_like(x); }), std::vector<bool>{false});
}

}  // namespace
}  // namespace stowage::tracer
