#include "recompute/ops/tensor_parts.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>
#include <torch/csrc/autograd/variable.h>

#include "recompute/ops/tensor_memory.h"
#include "recompute/threads/seen_thread.h"

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
at::Tensor tangent_of(const at::TensorBase& tensor) {
  const auto* const meta = static_cast<const AutogradMeta*>(tensor.unsafeGetTensorImpl()->autograd_meta());
  if (meta == nullptr) return {};
  if (meta->fw_grad_) return meta->fw_grad_->value(/*level=*/0);
  if (!meta->is_view_) return {};
  const auto* const view = static_cast<const DifferentiableViewMeta*>(meta);
  return view->has_fw_view() ? tangent_of(view->get_forward_view().base_) : at::Tensor();
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
  if (!autograd_is_off()) append(tangent_of(tensor), parts);
}

bool has_tangent(const at::TensorBase& tensor) {
  return is_dense(tensor) && may_have_parts(tensor) && tangent_of(tensor).defined();
}

}  // namespace stowage::recompute
