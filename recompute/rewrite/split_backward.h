// The backward pass of a convolution in two calls: first the gradients of weight and bias, then that of the
// input. In one call the input, the gradient and the input's gradient are in memory at once; in two only two
// of these are, and the input may be evicted in between.
//
// PyTorch's kernels for the two are apart already (output_mask chooses among them), so the bits are the same;
// a test compares kinds of convolutions both ways. Where autograd records, one call stays one node.
//
// Thread safety: for the calling thread.
#pragma once

#include <ATen/core/stack.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "recompute/ops/op_traits.h"

namespace stowage::recompute {

class SplitBackward {
 public:
  /// True if what the call reads and makes is more than half of `limit` bytes, which are not 0, and it makes
  /// both gradients. Requires: traits.convolution_backward.
  [[nodiscard]] static bool is_worth_it(c10::ArrayRef<c10::IValue> arguments, std::uint64_t limit);

  /// Requires: is_worth_it(). The arguments outlive this.
  explicit SplitBackward(c10::ArrayRef<c10::IValue> arguments) : arguments_(arguments) {}
  [[nodiscard]] static std::size_t count() { return kCalls; }
  /// The arguments of call 0 or 1.
  [[nodiscard]] torch::jit::Stack arguments_of(std::size_t call) const;
  /// Adds what a call returned to what the one before it did.
  static void add_results(torch::jit::Stack& all, const torch::jit::Stack& more);

 private:
  static constexpr std::size_t kCalls = 2;
  c10::ArrayRef<c10::IValue> arguments_;
};

}  // namespace stowage::recompute
