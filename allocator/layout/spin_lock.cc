#include "allocator/layout/spin_lock.h"

#include <chrono>
#include <thread>

namespace stowage::allocator {
namespace {

constexpr int kSpins = 128;
constexpr int kYields = 64;
constexpr std::chrono::microseconds kNap{50};

inline void pause_core() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void SpinLock::lock_slow() noexcept {
  for (int round = 0;; ++round) {
    // Reading first keeps the line shared while the holder works.
    if (!taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire)) return;
    if (round < kSpins) {
      pause_core();
    } else if (round < kSpins + kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
}

}  // namespace stowage::allocator
