// Calls that run as others with the same bits, in less memory: in parts (list_groups.h, split_backward.h),
// over a gradient (reused_gradient.h), with what the backward pass needs kept in fewer bytes (encodings.h),
// or with what is in memory anyway in its place (stand_ins.h).
//
// Only under a limit, and as the settings allow. Thread safety: for the calling thread.
#pragma once

#include <ATen/core/stack.h>
#include <c10/core/DispatchKeySet.h>

#include "recompute/ops/op_traits.h"

namespace stowage::recompute {

/// A call that is on the stack.
struct RewritableCall {
  const c10::OperatorHandle& op;
  const OpTraits& traits;
  c10::DispatchKeySet below;  ///< its dispatch keys below the interposer's
  torch::jit::Stack* stack;
  bool plain;  ///< only autograd and a dense kernel are below, and no argument has a tangent
  /// Runs a call on the last of the stack, which its results replace.
  void (*run)(const c10::OperatorHandle& op, const OpTraits& traits, c10::DispatchKeySet below,
              torch::jit::Stack* stack);

  [[nodiscard]] c10::ArrayRef<c10::IValue> arguments() const {
    return torch::jit::last(*stack, traits.arguments);
  }
};

/// Runs it as another one, if that takes less memory. False: nothing was done.
bool run_rewritten(const RewritableCall& call);

}  // namespace stowage::recompute
