// How a tensor shows its storage's memory. Called for each tensor of each op: their keys decide most cases.
//
// Tensors of other kinds answer for sizes, layout or device with code of their own, which may fail (nested
// ones have no sizes) or run Python, which must not happen under the runtime's lock. So these are asked of
// dense tensors only; of others just the storage, if they have one.
//
// Thread safety: pure functions.
#pragma once

#include <ATen/core/TensorBase.h>

#include <cstdint>
#include <typeinfo>

namespace stowage::recompute {

/// Lazy bits: a kernel behind these keys reads copies of tensors that are conjugated, negated or all zeros.
inline constexpr c10::DispatchKeySet kLazyKeys({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative,
                                                c10::DispatchKey::ZeroTensor});

namespace internal {

/// The keys of nearly all tensors: dense, of one device, no bits that change how memory is read.
constexpr c10::DispatchKeySet ordinary_keys(c10::DispatchKey device, c10::DispatchKey autograd,
                                            c10::DispatchKey autocast) {
  return c10::DispatchKeySet({device, c10::DispatchKey::ADInplaceOrView, autograd, autocast});
}
inline constexpr c10::DispatchKeySet kOnCpu =
    ordinary_keys(c10::DispatchKey::CPU, c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutocastCPU);
inline constexpr c10::DispatchKeySet kOnCuda =
    ordinary_keys(c10::DispatchKey::CUDA, c10::DispatchKey::AutogradCUDA, c10::DispatchKey::AutocastCUDA);

inline bool is_ordinary(const at::TensorBase& tensor) {
  return tensor.key_set() == kOnCpu || tensor.key_set() == kOnCuda;
}

/// Wrappers of PyTorch's transforms: what they report of memory belongs to other tensors.
inline constexpr c10::DispatchKeySet kWrappers({c10::DispatchKey::Functionalize,
                                                c10::DispatchKey::FuncTorchGradWrapper,
                                                c10::DispatchKey::FuncTorchBatched});

/// Newer torches have no named tensors.
template <class Tensor>
bool has_names(const Tensor& tensor) {
  if constexpr (requires { tensor.has_names(); }) return tensor.has_names();
  return false;
}

}  // namespace internal

/// It is one of PyTorch's dense tensors: all queries are cheap and run no foreign code.
inline bool is_dense(const at::TensorBase& tensor) {
  return internal::is_ordinary(tensor) || (typeid(*tensor.unsafeGetTensorImpl()) == typeid(c10::TensorImpl) &&
                                           !tensor.key_set().has_any(c10::python_ks));
}

/// Its storage if it has one with memory on a device that is served, else null. Of any kind of tensor.
inline const c10::Storage* served_storage(const at::TensorBase& tensor) {
  if (internal::is_ordinary(tensor)) return &tensor.unsafeGetTensorImpl()->unsafe_storage();
  if (!tensor.has_storage() || tensor.key_set().has_any(internal::kWrappers)) return nullptr;
  const c10::Storage& storage = tensor.unsafeGetTensorImpl()->unsafe_storage();
  const c10::DeviceType device = storage.device_type();
  return device == c10::kCPU || device == c10::kCUDA ? &storage : nullptr;
}

/// It has a storage with strides, on a device that is served.
inline bool has_plain_memory(const at::TensorBase& tensor) {
  return internal::is_ordinary(tensor) || (is_dense(tensor) && served_storage(tensor) != nullptr);
}

/// It has no memory, only sizes.
inline bool is_meta(const at::TensorBase& tensor) { return is_dense(tensor) && tensor.is_meta(); }

/// An op that reads it reads what its storage holds, by its geometry, and nothing else.
inline bool shows_plain_memory(const at::TensorBase& tensor) {
  return internal::is_ordinary(tensor) ||
         (has_plain_memory(tensor) && !internal::has_names(tensor) && !tensor.is_inference());
}

/// It covers every byte of its storage exactly once. Requires: has_plain_memory().
inline bool shows_all(const at::TensorBase& tensor) {
  return tensor.is_non_overlapping_and_dense() && tensor.storage_offset() == 0 &&
         static_cast<std::uint64_t>(tensor.numel()) * tensor.itemsize() == tensor.storage().nbytes();
}

/// Equal types, sizes and strides. Requires: has_plain_memory() of both.
inline bool are_alike(const at::TensorBase& one, const at::TensorBase& other) {
  return one.scalar_type() == other.scalar_type() && one.sizes() == other.sizes() &&
         one.strides() == other.strides();
}

}  // namespace stowage::recompute
