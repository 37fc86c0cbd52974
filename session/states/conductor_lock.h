// Who conducts a session: one thread at a time.
//
// Thread safety: every member, from any thread, but unlock(), which is for the thread that holds it.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace stowage::session {

class ConductorLock {
 public:
  bool try_lock() noexcept;
  /// Waits for another thread at most so long; never for the calling thread itself, which returns false at
  /// once. For a caller that may hold locks which the conductor waits for.
  bool try_lock_for(std::chrono::milliseconds patience) noexcept;
  void lock() noexcept;
  void unlock() noexcept;

 private:
  std::atomic<std::thread::id> holder_{};  // none: free
};

}  // namespace stowage::session
