// Whether the calling thread is inside a backward pass of autograd, and what is to run once that is over.
//
// An optimizer may step there (hooks that run when a gradient is complete). A backward pass that a node of
// another one runs (torch.utils.checkpoint with use_reentrant=True) is a part of that one.
//
// Thread safety: any thread.
#pragma once

#include <functional>

namespace stowage::tracer {

/// The calling thread runs a node of autograd, or a hook of one.
[[nodiscard]] bool inside_backward();

/// Calls `work` when the backward pass that the calling thread is inside is over, on the thread that ends it;
/// of several calls in one pass only the first counts. Never, if the pass fails, or is a part of another one.
/// What `work` throws is swallowed. Requires: inside_backward().
void once_after_backward(std::function<void()> work);

}  // namespace stowage::tracer
