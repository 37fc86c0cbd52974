// The lock of a session's conductor: one thread at a time conducts.
//
// Thread safety: every member, from any thread, except unlock(), which only the holder may call.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace stowage::session {

class ConductorLock {
 public:
  bool try_lock() noexcept;
  /// Waits for another thread at most `patience`; never for the calling thread itself, which gets false at
  /// once. For a caller that may hold locks which the conductor waits for.
  bool try_lock_for(std::chrono::milliseconds patience) noexcept;
  void lock() noexcept;
  void unlock() noexcept;
  /// The calling thread holds it.
  [[nodiscard]] bool is_mine() const noexcept {
    return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

 private:
  std::atomic<std::thread::id> holder_{};  // none: free
};

}  // namespace stowage::session
