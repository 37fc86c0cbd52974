// Sees ops below autograd instead of above it: the calls with dual tensors (forward-mode AD).
//
// In such a call autograd runs, besides the op's kernel, the ops that compute the tangents, or a
// decomposition in the kernel's place. So the call itself is not recorded: a second boxed fallback, on
// DispatchKey::Fake, which lies below autograd and lazy bits, sees each kernel that autograd calls. There
// primals and tangents are tensors like others, and so are the copies that autograd keeps of what an op
// writes over.
//
// The key is on in the calling thread only during such a call. Thread safety: any thread.
#pragma once

#include <ATen/core/stack.h>
#include <c10/core/DispatchKeySet.h>

namespace c10 {
class OperatorHandle;
}

namespace stowage::recompute {

struct OpTraits;

/// Registers the fallback. Where somebody else has taken the key nothing is seen below autograd, and tangents
/// stay resident (tensor_parts.h).
void see_below_autograd();

/// True if `arguments` have a tangent and the kernels that autograd calls for them are dense ones that can be
/// seen. Nearly free before the first dual tensor of the process.
bool is_dual_call(c10::DispatchKeySet below, c10::ArrayRef<c10::IValue> arguments);

/// True if autograd keeps a copy of what the call writes over, made by a kernel that can be seen.
bool is_copying_call(const OpTraits& traits, c10::DispatchKeySet below, c10::ArrayRef<c10::IValue> arguments);

/// Runs an op so that the kernels that autograd calls for it are seen.
void run_seeing_kernels(const c10::OperatorHandle& op, c10::DispatchKeySet below, torch::jit::Stack* stack);

/// The op that makes dual tensors, whose calls are noticed.
inline constexpr const char* kMakesDuals = "aten::_make_dual";

}  // namespace stowage::recompute
