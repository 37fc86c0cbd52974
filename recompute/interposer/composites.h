// Composite ops: they only call other ops, which are seen.
//
// Thread safety: any thread.
#pragma once

#include <ATen/core/stack.h>
#include <c10/core/DispatchKeySet.h>

namespace c10 {
class OperatorHandle;
}

namespace stowage::recompute {

struct OpTraits;

/// True if `op` runs no kernel of its own for what it is called with.
bool is_composite_call(const c10::OperatorHandle& op, const OpTraits& traits, c10::DispatchKeySet below);

/// Runs it, with what it may read through pointers resident.
void run_composite(const c10::OperatorHandle& op, const OpTraits& traits, c10::DispatchKeySet below,
                   torch::jit::Stack* stack);

}  // namespace stowage::recompute
