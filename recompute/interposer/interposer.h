// Sees every op of the threads that take part: a boxed fallback on DispatchKey::DeferredInit, above autograd.
//
// The key is switched on per thread; autograd carries it to the threads that run a thread's backward pass.
// Composites, autocast, modes and custom ops are passed on with the key left on, so that the ops they call
// are seen; all others run with it off, as one OpCall each. Registered once, never removed: a thread may
// have the key on at any time. PyTorch excludes the key in Python's dispatch; python_dispatch.h undoes that.
//
// Thread safety: any thread.
#pragma once

#include "core/result.h"

namespace stowage::recompute {

/// Registers the fallback at the first call. Error: kUnsupported when somebody else has taken the key.
Status register_interposer();

}  // namespace stowage::recompute
