// Whether the interposer sees the calling thread's ops, and what PyTorch has switched off in the thread: all
// that follows from its dispatch keys.
//
// The interposer's key is on in threads that take part, and off in the ops that it sees. PyTorch excludes
// keys of its own in kernels and in Python's dispatch.
//
// Thread safety: any thread; each has its own keys.
#pragma once

#include <c10/core/DispatchKey.h>

#include <atomic>

namespace stowage::recompute {

/// The interposer's key, above autograd.
inline constexpr c10::DispatchKey kAboveAutograd = c10::DispatchKey::DeferredInit;
/// The key by which a call tells that the kernels below it are seen.
inline constexpr c10::DispatchKey kBelowAutograd = c10::DispatchKey::Fake;

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

/// A dual tensor (forward-mode AD) exists or existed in the process; from then on calls are checked for them.
inline std::atomic<bool> any_duals{false};
/// Some call of the process has run with its kernels seen.
inline std::atomic<bool> any_seen_kernels{false};
/// True in a kernel that is seen, with autograd above it: its arguments are what they seem.
bool is_seen_kernel();

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
