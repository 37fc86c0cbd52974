// What stands between a call and its kernels, by the dispatch keys that are in force.
//
// Thread safety: pure functions.
#pragma once

#include <c10/core/DispatchKeySet.h>

#include <array>

#include "recompute/call/op_call.h"
#include "recompute/ops/tensor_memory.h"

namespace stowage::recompute {

/// Dense kernels, autograd and version counting.
inline constexpr c10::DispatchKeySet kPlainKeys(
    {c10::DispatchKey::CPU, c10::DispatchKey::CUDA, c10::DispatchKey::AutogradCPU,
     c10::DispatchKey::AutogradCUDA, c10::DispatchKey::AutogradOther, c10::DispatchKey::ADInplaceOrView,
     c10::DispatchKey::BackendSelect});

/// Kernels for other kinds of tensors. They take tensors apart and read memory through pointers.
inline constexpr std::array kKernelKeys = {
    c10::DispatchKey::SparseCPU,       c10::DispatchKey::SparseCUDA,
    c10::DispatchKey::SparseCsrCPU,    c10::DispatchKey::SparseCsrCUDA,
    c10::DispatchKey::QuantizedCPU,    c10::DispatchKey::QuantizedCUDA,
    c10::DispatchKey::NestedTensorCPU, c10::DispatchKey::NestedTensorCUDA,
    c10::DispatchKey::MkldnnCPU,       c10::DispatchKey::AutogradNestedTensor};

namespace internal {

/// Newer torches have no named tensors.
template <class Key>
constexpr c10::DispatchKeySet named_key() {
  if constexpr (requires { Key::Named; }) return c10::DispatchKeySet(Key::Named);
  return {};
}

/// Anything else is a mode, a subclass or a transform.
constexpr c10::DispatchKeySet one_call_keys() {
  c10::DispatchKeySet keys = kPlainKeys | kLazyKeys | named_key<c10::DispatchKey>();
  for (const c10::DispatchKey key : kKernelKeys) keys = keys | c10::DispatchKeySet(key);
  return keys;
}
inline constexpr c10::DispatchKeySet kOneCallKeys = one_call_keys();

}  // namespace internal

inline bool has_only(c10::DispatchKeySet keys, c10::DispatchKeySet among) {
  return (keys.raw_repr() & ~among.raw_repr()) == 0;
}

inline Below below_of(c10::DispatchKeySet keys) {
  if (has_only(keys, kPlainKeys)) return Below::kPlain;
  return has_only(keys, internal::kOneCallKeys) ? Below::kKernel : Below::kOps;
}

/// Only autograd and lazy bits stand between the call and a dense kernel.
inline bool is_dense_call(c10::DispatchKeySet keys) { return has_only(keys, kPlainKeys | kLazyKeys); }

}  // namespace stowage::recompute
