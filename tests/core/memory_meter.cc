#include "tests/core/memory_meter.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

std::size_t g_used = 0;
std::size_t g_peak = 0;
std::size_t g_base = 0;

void* take(std::size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  g_used += ::malloc_usable_size(memory);
  g_peak = std::max(g_peak, g_used);
  return memory;
}

void give(void* memory) noexcept {
  if (memory == nullptr) return;
  g_used -= ::malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return take(size); }
void* operator new[](std::size_t size) { return take(size); }
void operator delete(void* memory) noexcept { give(memory); }
void operator delete[](void* memory) noexcept { give(memory); }
void operator delete(void* memory, std::size_t) noexcept { give(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give(memory); }

namespace stowage::testing {

void reset_memory_peak() { g_base = g_peak = g_used; }
std::size_t memory_peak() { return g_peak - g_base; }

}  // namespace stowage::testing
