// What an optimizer may write: tensors that the user asked gradients for.
//
// Thread safety: pure functions. The tensor must not change meanwhile.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/variable.h>

namespace stowage::recompute {

/// A parameter or another leaf that the user asked gradients for, or a view of one. A view that was made
/// without grad mode has no history of its own and looks like a leaf: what it shows may be an activation.
inline bool is_parameter(const at::TensorBase& tensor) {
  const auto* const meta =
      static_cast<const torch::autograd::AutogradMeta*>(tensor.unsafeGetTensorImpl()->autograd_meta());
  if (meta == nullptr || meta->grad_fn_) return false;
  if (meta->requires_grad_ || !meta->is_view_) return meta->requires_grad_;
  const auto* const view = static_cast<const torch::autograd::DifferentiableViewMeta*>(meta);
  return view->has_bw_view() && is_parameter(view->get_backward_view().base_);
}

}  // namespace stowage::recompute
