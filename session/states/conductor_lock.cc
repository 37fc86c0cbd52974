#include "session/states/conductor_lock.h"

namespace stowage::session {

bool ConductorLock::try_lock() noexcept {
  std::thread::id nobody;
  return holder_.compare_exchange_strong(nobody, std::this_thread::get_id(), std::memory_order_acquire,
                                         std::memory_order_relaxed);
}

bool ConductorLock::try_lock_for(std::chrono::milliseconds patience) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!try_lock()) {
    if (is_mine()) return false;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

void ConductorLock::lock() noexcept {
  while (!try_lock()) {
    if (const std::thread::id holder = holder_.load(std::memory_order_relaxed); holder != std::thread::id())
      holder_.wait(holder);
  }
}

void ConductorLock::unlock() noexcept {
  holder_.store(std::thread::id(), std::memory_order_release);
  holder_.notify_all();
}

}  // namespace stowage::session
