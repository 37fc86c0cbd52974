// The storages of a tensor besides its own: memory that a kernel reads from it without an op.
//
// Sparse tensors hold indices and values; nested ones their sizes, strides and offsets; quantised ones scales
// and zero points; a dual one (forward-mode AD) its tangent, which autograd alone reads.
//
// Thread safety: pure functions. The tensor must not change meanwhile, as while an op begins that reads it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/autograd/variable.h>

#include "recompute/ops/tensor_memory.h"

namespace stowage::recompute {

using TensorParts = c10::SmallVector<at::Tensor, 4>;

/// False for nearly all tensors, at once: then there is nothing to append.
inline bool may_have_parts(const at::TensorBase& tensor) {
  if (!is_dense(tensor)) return true;
  const auto* const meta =
      static_cast<const torch::autograd::AutogradMeta*>(tensor.unsafeGetTensorImpl()->autograd_meta());
  return meta != nullptr && (meta->fw_grad_ || meta->is_view_);
}

/// Dense, with a tangent.
bool has_tangent(const at::TensorBase& tensor);

/// Appends the parts of `tensor`, and theirs. No effect for a dense tensor without autograd's data.
void append_parts(const at::TensorBase& tensor, TensorParts& parts);

}  // namespace stowage::recompute
