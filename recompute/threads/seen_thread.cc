#include "recompute/threads/seen_thread.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include "recompute/threads/thread_state.h"

namespace stowage::recompute {

void take_part(bool on) { c10::impl::tls_set_dispatch_key_included(kAboveAutograd, on); }

bool takes_part() {
  return c10::impl::tls_is_dispatch_key_included(kAboveAutograd) ||
         c10::impl::tls_is_dispatch_key_excluded(kAboveAutograd);
}

bool ignores_lazy_bits() { return c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Conjugate); }

// Autograd excludes the keys above kernels, and only these.
bool called_by_kernel() {
  const c10::DispatchKeySet excluded = c10::impl::tls_local_dispatch_key_set().excluded_;
  return excluded.has(c10::DispatchKey::ADInplaceOrView) && !excluded.has(c10::DispatchKey::Conjugate) &&
         !is_seen_kernel();
}

bool autograd_is_off() { return c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradOther); }

bool is_seen_kernel() {
  return any_seen_kernels.load(std::memory_order_relaxed) &&
         c10::impl::tls_is_dispatch_key_excluded(kBelowAutograd);
}

SeenAgain::SeenAgain()
    : excluded_(this_thread().replaying == 0 && c10::impl::tls_is_dispatch_key_excluded(kAboveAutograd)) {
  if (excluded_) c10::impl::tls_set_dispatch_key_excluded(kAboveAutograd, false);
}

SeenAgain::~SeenAgain() {
  if (excluded_) c10::impl::tls_set_dispatch_key_excluded(kAboveAutograd, true);
}

}  // namespace stowage::recompute
