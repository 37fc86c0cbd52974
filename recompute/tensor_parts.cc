#include "recompute/tensor_parts.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>
#include <torch/csrc/autograd/variable.h>

#include "recompute/tensor_memory.h"

namespace stowage::recompute {
namespace {

using torch::autograd::AutogradMeta;
using torch::autograd::DifferentiableViewMeta;

void append(const at::Tensor& part, TensorParts& parts) {
  if (!part.defined()) return;
  parts.push_back(part);
  append_parts(part, parts);
}

// Not asked through fw_grad(), which takes a lock and may make a view. A view made before its base got a
// tangent has none of its own yet.
void append_tangent(const at::TensorBase& tensor, TensorParts& parts) {
  const auto* const meta = static_cast<const AutogradMeta*>(tensor.unsafeGetTensorImpl()->autograd_meta());
  if (meta == nullptr) return;
  if (meta->fw_grad_) return append(meta->fw_grad_->value(/*level=*/0), parts);
  if (!meta->is_view_) return;
  const auto* const view = static_cast<const DifferentiableViewMeta*>(meta);
  if (view->has_fw_view()) append_tangent(view->get_forward_view().base_, parts);
}

void append_hidden(c10::TensorImpl& impl, TensorParts& parts) {
  if (auto* const sparse = dynamic_cast<at::SparseTensorImpl*>(&impl)) {
    append(sparse->indices(), parts);
    append(sparse->values(), parts);
  } else if (auto* const compressed = dynamic_cast<at::SparseCsrTensorImpl*>(&impl)) {
    append(compressed->compressed_indices(), parts);
    append(compressed->plain_indices(), parts);
    append(compressed->values(), parts);
  } else if (auto* const nested = dynamic_cast<at::native::NestedTensorImpl*>(&impl)) {
    append(nested->get_nested_sizes(), parts);
    append(nested->get_nested_strides(), parts);
    append(nested->get_storage_offsets(), parts);
  } else if (auto* const quantized = dynamic_cast<at::QTensorImpl*>(&impl)) {
    const auto* const channels =
        dynamic_cast<const at::PerChannelAffineQuantizer*>(quantized->quantizer().get());
    if (channels == nullptr) return;
    append(channels->scales(), parts);
    append(channels->zero_points(), parts);
  }
}

}  // namespace

void append_parts(const at::TensorBase& tensor, TensorParts& parts) {
  if (!is_dense(tensor)) append_hidden(*tensor.unsafeGetTensorImpl(), parts);
  append_tangent(tensor, parts);
}

}  // namespace stowage::recompute
