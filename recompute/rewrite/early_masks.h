// The zeros of a ReLU's backward pass, set in a max pooling's gradient before it instead of behind it.
//
// A pooling passes its gradient to the elements that it chose, and what it chose is what it gave. So whether
// the ReLU's result is positive there can be read from the pooling's result, which the next op saves, too.
// What the pooling's backward pass makes then has its zeros, the ReLU's has nothing to do, and the ReLU's
// result, which is larger, is read by nobody. An element that several windows chose is positive for all of
// them or for none, so the bits are the same.
//
// Only where nobody sees the gradient between the two: no hook, no retained or asked-for gradient. If other
// ops read the ReLU's result, too, their gradients are added, and the ReLU's backward pass runs as ever.
//
// Thread safety: for the calling thread; they take the runtime's lock.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <cstdint>

namespace stowage::recompute {

/// After a call of a max pooling of `rectified` with autograd on: its result tells of the signs there.
void note_pooled(const at::Tensor& rectified, c10::ArrayRef<c10::IValue> results);

/// What a pooling's backward pass can do for the ReLU before it.
struct EarlyMask {
  at::Tensor pooled;  ///< where that is not positive, the gradient is to be zero; undefined: nothing
  std::uint64_t rectified = 0;  ///< the ReLU's result
};
/// `arguments`: those of a call of the pooling's backward op, by its own node.
EarlyMask early_mask_for(c10::ArrayRef<c10::IValue> arguments);
/// The pooling's backward pass made `gradient` of one with these zeros.
void note_masked(const at::Tensor& gradient, const EarlyMask& mask);
/// The call of a ReLU's backward op would change nothing.
bool is_masked_already(c10::ArrayRef<c10::IValue> arguments);

}  // namespace stowage::recompute
