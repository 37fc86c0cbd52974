// Values that are kept in fewer bytes for the one op of the backward pass that reads them again: the indices
// of a max pooling, the mask of a dropout.
//
// The tensor itself is then read by nobody, so that it can be evicted for nothing. The encoded bytes are a
// tensor like any other, made from it by an op that is recorded, and go when the op has read them; should
// another one read the tensor later, it comes back as after any eviction.
//
// Packing and unpacking take about half of the time of making the tensor again, whether or not that would be
// necessary, so they are for tensors of which one op on a few fills the memory: where the op reads a quarter
// of the limit or more. With smaller ones schedules got dearer (docs/recompute.md).
//
// Thread safety: for the calling thread; they take the runtime's lock.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <cstdint>

#include "recompute/ops/op_traits.h"

namespace stowage::recompute {

/// Around a call that runs with autograd on, and what is on the device under `limit` bytes.
class Encoding {
 public:
  /// Requires: traits.encodable is neither kNothing nor kServed. `arguments`: those of the call.
  Encoding(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments, std::uint64_t limit);
  /// After the call, with what it returned.
  void end(c10::ArrayRef<c10::IValue> results) const;

 private:
  Encodable encodable_;
  std::uint64_t limit_;
  at::Tensor input_;  ///< its first argument; unset for a ReLU
};

/// What a call of the backward pass can read instead of its argument number traits.encoded_argument, which is
/// not negative: the indices, or the mask. Undefined: nothing was encoded.
at::Tensor decoded_argument(const OpTraits& traits, c10::ArrayRef<c10::IValue> arguments);

}  // namespace stowage::recompute
