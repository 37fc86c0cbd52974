// How a tensor shows its storage's memory. Asked of each tensor at each op: most can be told by their keys.
//
// Thread safety: pure functions.
#pragma once

#include <ATen/core/TensorBase.h>

#include <cstdint>

namespace stowage::recompute {

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

/// Newer torches have no named tensors.
template <class Tensor>
bool has_names(const Tensor& tensor) {
  if constexpr (requires { tensor.has_names(); }) return tensor.has_names();
  return false;
}

}  // namespace internal

inline bool on_served_device(const at::TensorBase& tensor) { return tensor.is_cpu() || tensor.is_cuda(); }

/// It has a storage with strides, on a device that is served.
inline bool has_plain_memory(const at::TensorBase& tensor) {
  return internal::is_ordinary(tensor) ||
         (tensor.has_storage() && tensor.layout() == c10::kStrided && on_served_device(tensor));
}

/// An op that reads it reads what its storage holds, by its geometry, and nothing else.
inline bool shows_plain_memory(const at::TensorBase& tensor) {
  return internal::is_ordinary(tensor) ||
         (has_plain_memory(tensor) && !internal::has_names(tensor) && !tensor.is_inference());
}

/// It shows every byte of its storage once.
inline bool shows_all(const at::TensorBase& tensor) {
  return tensor.is_non_overlapping_and_dense() && tensor.storage_offset() == 0 &&
         static_cast<std::uint64_t>(tensor.numel()) * tensor.itemsize() == tensor.storage().nbytes();
}

}  // namespace stowage::recompute
