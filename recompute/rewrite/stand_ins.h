// What serves an op of the backward pass as well as the tensor that autograd saved for it: the result of a
// ReLU6 (hardtanh) or of a leaky ReLU, of which only matters where it lies between the bounds, and so does
// its input.
//
// The next op reads the result anyway, so that the input, or the copy of it that autograd keeps where the op
// writes in place, is read by nobody, and can be evicted for nothing. That holds for the bits of any input,
// infinities and NaN included, while the bounds are numbers of the tensors' type, and the slope is not
// negative. If the result is written before the backward pass comes to it, the saved tensor is read as ever.
//
// Source: the output-activated ReLU of In-Place Activated BatchNorm (Rota Bulo et al., CVPR 2018) and MONeT.
//
// Thread safety: for the calling thread; they take the runtime's lock.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <cstdint>

#include "recompute/ops/op_traits.h"

namespace stowage::recompute {

/// Around a call that runs with autograd on.
class ServedCall {
 public:
  /// Requires: traits.encodable is kServed. `arguments`: those of the call.
  ServedCall(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments);
  ServedCall(const ServedCall&) = delete;
  ServedCall& operator=(const ServedCall&) = delete;
  ~ServedCall();
  /// After the call, with what it returned.
  void end(c10::ArrayRef<c10::IValue> results);

 private:
  std::uint64_t kind_;              ///< which op, with which bounds; 0: its result does not serve
  at::Tensor saved_;                ///< its input, or autograd's copy of that
  at::Tensor* const asked_before_;  ///< of the thread
};

/// What a call of the backward pass can read in place of its argument number traits.encoded_argument.
/// Undefined: nothing can. Requires: traits.served_backward.
at::Tensor stand_in_for(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments);

}  // namespace stowage::recompute
