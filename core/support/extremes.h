// The highest and the lowest value that several threads have seen.
//
// Thread safety: any thread.
#pragma once

#include <atomic>

namespace stowage {

template <class T>
void raise_to(std::atomic<T>& highest, T value,
              std::memory_order order = std::memory_order_relaxed) noexcept {
  T seen = highest.load(order);
  while (seen < value && !highest.compare_exchange_weak(seen, value, order)) {
  }
}

template <class T>
void lower_to(std::atomic<T>& lowest, T value, std::memory_order order = std::memory_order_relaxed) noexcept {
  T seen = lowest.load(order);
  while (value < seen && !lowest.compare_exchange_weak(seen, value, order)) {
  }
}

}  // namespace stowage
