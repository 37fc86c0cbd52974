// A lock for critical sections of some ten instructions: one atomic exchange to take it, one store to leave
// it.
//
// Why not std::mutex: its unlock is a second atomic read-modify-write, and on the hot path the lock is most
// of the cost. A waiter spins, then yields, then sleeps, so that a holder which lost its core (a plan being
// installed) is not starved.
// Thread safety: any thread. Not recursive. Meets the standard's BasicLockable.
#pragma once

#include <atomic>

namespace stowage::allocator {

class SpinLock {
 public:
  void lock() noexcept {
    if (taken_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      lock_slow();
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  void lock_slow() noexcept;

  std::atomic<bool> taken_{false};
};

}  // namespace stowage::allocator
