// Sees every op of the threads that take part: a boxed fallback on DispatchKey::DeferredInit, above autograd.
//
// The key is switched on per thread; autograd carries it to the threads that run a thread's backward pass.
// Composites, autocast, modes and custom ops are passed on with the key left on, so that the ops they call
// come by; all others run with it off, as one OpCall each. Registered once, never taken back: a thread may
// have the key on at any time. PyTorch excludes the key in Python's dispatch; python_dispatch.h undoes that.
//
// Thread safety: any thread.
#pragma once

#include "core/result.h"

namespace stowage::recompute {

/// Registers the fallback at the first call. Error: kUnsupported when somebody else has taken the key.
Status register_interposer();
/// Switches the interposer on or off for the calling thread.
void take_part(bool on);
/// True if the calling thread's ops are seen, or are those inside a seen op.
bool takes_part();

/// True where PyTorch excludes the keys that see to lazy bits, as it does in Python's dispatch: kernels then
/// read what conjugated and negated tensors hold as it lies there.
bool ignores_lazy_bits();

/// True in an op that a kernel calls (views of nested tensors, which are let pass): the kernel may read what
/// it makes through pointers.
bool called_by_kernel();

/// True where PyTorch has switched autograd off, forward mode too, as in kernels and in Python's dispatch.
bool autograd_is_off();

/// While it exists, ops of a thread that takes part are seen even where PyTorch excluded the key. No effect
/// in a recomputation.
class SeenAgain {
 public:
  SeenAgain();
  SeenAgain(const SeenAgain&) = delete;
  SeenAgain& operator=(const SeenAgain&) = delete;
  ~SeenAgain();

 private:
  const bool excluded_;
};

}  // namespace stowage::recompute
