// The one hash of a call: what its shape tells apart, what its signature's fingerprint tells apart besides.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "recompute/ops/argument.h"
#include "recompute/ops/op_traits.h"
#include "recompute/recipe/call_hash.h"
#include "recompute/recipe/signature.h"

namespace stowage::recompute {
namespace {

const OpTraits& traits(const char* name, const char* overload) {
  return traits_of(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload));
}

struct Call {
  const OpTraits& op;
  std::vector<c10::IValue> arguments;

  [[nodiscard]] std::uint64_t shape() const { return CallHash(op, arguments).shape(); }
  [[nodiscard]] Ref<Signature> signature_in(SignatureBook& book) const {
    std::vector<Seen> seen;
    const auto see = [&](const c10::IValue& value) {
      if (const at::Tensor* const tensor = tensor_in(value))
        seen.push_back({tensor, tensor->storage().nbytes(), Role::kRead});
    };
    for (const c10::IValue& argument : arguments) {
      if (!is_list_of_tensors(argument)) {
        see(argument);
        continue;
      }
      for (const c10::IValue& element : argument.toListRef()) see(element);
    }
    return book.signature_of(CallHash(op, arguments), op, arguments, seen);
  }
};

class CallHashTest : public ::testing::Test {
 protected:
  static Call add(const at::Tensor& left, const at::Tensor& right, const at::Scalar& alpha = 1) {
    return {traits("aten::add", "Tensor"), {left, right, alpha}};
  }
  bool same_signature(const Call& one, const Call& other) {
    return one.signature_in(book_) == other.signature_in(book_);
  }

  SignatureBook book_;
  const at::Tensor x_ = at::zeros({2, 3});
  const at::Tensor y_ = at::zeros({2, 3});
};

TEST_F(CallHashTest, CallsThatAreAlikeShareBoth) {
  EXPECT_EQ(add(x_, y_).shape(), add(y_, x_).shape());
  EXPECT_TRUE(same_signature(add(x_, y_), add(y_, x_)));
  EXPECT_EQ(book_.size(), 1u);
}

TEST_F(CallHashTest, ShapeIsOpTypesAndSizes) {
  const std::uint64_t shape = add(x_, y_).shape();
  EXPECT_NE(shape, add(x_, at::zeros({3})).shape());
  EXPECT_NE(shape, add(x_, at::zeros({2, 3}, at::kDouble)).shape());
  EXPECT_NE(shape, add(x_.t(), y_.t()).shape());
  EXPECT_NE(shape, add(x_.view({6}), y_.view({6})).shape());
  EXPECT_NE(shape, (Call{traits("aten::sub", "Tensor"), {x_, y_, 1}}.shape()));
  EXPECT_FALSE(same_signature(add(x_, y_), add(x_, at::zeros({3}))));
}

TEST_F(CallHashTest, SignatureTellsApartWhatTwoIterationsMayDifferIn) {
  const std::vector<Call> others = {add(x_, y_, 2),                                           // a scalar
                                    add(x_, at::zeros({3, 2}).t()),                           // strides
                                    add(x_, at::zeros({12}).as_strided({2, 3}, {3, 1})),      // storage
                                    add(x_, at::zeros({12}).as_strided({2, 3}, {3, 1}, 2))};  // offset
  for (const Call& other : others) {
    EXPECT_EQ(add(x_, y_).shape(), other.shape());
    EXPECT_FALSE(same_signature(add(x_, y_), other));
  }
  EXPECT_FALSE(same_signature(others[2], others[3]));
}

TEST_F(CallHashTest, WhereTensorsStandIsPartOfTheShape) {
  const OpTraits& clamp = traits("aten::clamp", "Tensor");
  const Call lower{clamp, {x_, y_, c10::IValue()}};
  const Call upper{clamp, {x_, c10::IValue(), y_}};
  EXPECT_NE(lower.shape(), upper.shape());
  EXPECT_FALSE(same_signature(lower, upper));
}

TEST_F(CallHashTest, ListsAreSeenThrough) {
  const OpTraits& cat = traits("aten::cat", "");
  const auto of = [&](const std::vector<at::Tensor>& parts, std::int64_t dim) {
    return Call{cat, {c10::List<at::Tensor>(parts), dim}};
  };
  EXPECT_TRUE(same_signature(of({x_, y_}, 0), of({y_, x_}, 0)));
  EXPECT_FALSE(same_signature(of({x_, y_}, 0), of({x_, y_}, 1)));
  EXPECT_EQ(of({x_, y_}, 0).shape(), of({x_, y_}, 1).shape());
  EXPECT_NE(of({x_, y_}, 0).shape(), of({x_, y_, y_}, 0).shape());

  const OpTraits& index = traits("aten::index", "Tensor");
  const at::Tensor at = at::zeros({1}, at::kLong);
  const auto indexed = [&](const std::vector<std::optional<at::Tensor>>& by) {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& one : by) list.push_back(one);
    return Call{index, {x_, list}};
  };
  EXPECT_NE(indexed({at, std::nullopt}).shape(), indexed({std::nullopt, at}).shape());
  EXPECT_FALSE(same_signature(indexed({at, std::nullopt}), indexed({std::nullopt, at})));
  EXPECT_FALSE(same_signature(indexed({at}), indexed({at, std::nullopt})));
}

// A rank that compares shapes with another one's, or a run with an earlier one's, counts on it.
TEST_F(CallHashTest, ShapeIsTheSameInEveryProcess) { EXPECT_EQ(add(x_, y_).shape(), 11801619321877960538u); }

TEST_F(CallHashTest, TensorsThatAreNotDenseHaveAShapeToo) {
  const at::Tensor sparse = at::zeros({2, 3}).to_sparse();
  EXPECT_EQ(add(x_, sparse).shape(), add(y_, sparse).shape());
}

}  // namespace
}  // namespace stowage::recompute
