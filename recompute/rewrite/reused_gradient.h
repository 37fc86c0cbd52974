// The backward pass of an elementwise op or of a softmax writes its result over the gradient that it was
// given, if nobody else has that. In memory are then two tensors instead of three: the gradient and what the
// forward pass saved.
//
// PyTorch's kernels for `grad_input=` and `out=` are those that make a new result, so the bits are the same:
// they read an element before they write it, and a softmax's sum over the others before any of them
// (aten/src/ATen/native/cuda/SoftMax.cu, cpu/SoftMaxKernel.cpp). That nobody else has the gradient is seen
// from its reference count, as AccumulateGrad sees whether it may keep one
// (torch/csrc/autograd/functions/accumulate_grad.h): autograd's node has it, and the call that it is in. Only
// nodes count that use it once (derivatives.yaml).
//
// Thread safety: for the calling thread.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>

#include "recompute/ops/op_traits.h"

namespace stowage::recompute {

/// True if what the call reads and makes is more than an eighth of `limit` bytes, which are not 0, and its
/// result may be written over its gradient. `arguments`: those on the stack, of which there is no copy.
/// Requires: traits.over_gradient.
[[nodiscard]] bool may_write_over_gradient(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments,
                                           std::uint64_t limit);

}  // namespace stowage::recompute
