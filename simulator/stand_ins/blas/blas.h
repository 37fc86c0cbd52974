// What every library handle of the stand-ins is: the stream that its calls go to. Thread safety: as the real
// handles, one thread at a time.
#pragma once

#include "simulator/device/machine.h"

namespace stowage::simulator {

/// cublasHandle_t, cudnnHandle_t and the like point to one of these.
struct LibraryHandle {
  const void* stream = nullptr;
  int pointer_mode = 0;
  int math_mode = 0;
};

inline LibraryHandle& library(const void* handle) {
  return *static_cast<LibraryHandle*>(const_cast<void*>(handle));
}

/// Puts a product of `flops` on the handle's stream as the kernel `name` (static text). Returns 0, the
/// success of every library, or 1.
int run_product(const void* handle, std::uint64_t flops, const char* name);

/// 2·m·n·k·batches. Requires: none negative.
inline std::uint64_t product_flops(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batches = 1) {
  return static_cast<std::uint64_t>(2 * m * n * k * batches);
}

}  // namespace stowage::simulator
