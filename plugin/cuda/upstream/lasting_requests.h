// What the calling thread allocates is known to last.
//
// Thread safety: each thread has its own.
#pragma once

#include <atomic>

#include "core/support/thread_scope.h"

namespace stowage::plugin {

/// While one exists, the thread's requests are for what lasts: they lie apart from all others.
class LastingRequests : public ThreadScope<LastingRequests> {
 public:
  LastingRequests() noexcept { any_.fetch_add(1); }
  ~LastingRequests() { any_.fetch_sub(1); }
  /// One exists on the calling thread. For the hot path: looks at the thread's own only where any thread has
  /// one.
  [[nodiscard]] static bool present() noexcept {
    return any_.load(std::memory_order_relaxed) != 0 && depth() > 0;
  }

 private:
  static inline std::atomic<int> any_{0};
};

}  // namespace stowage::plugin
