// One reserved range of device addresses, backed by physical memory from its base up to `mapped()`.
//
// Thread safety: grow() and the destructor need exclusive use; the getters do not change in between.
#pragma once

#include <memory>

#include "core/result.h"
#include "core/units.h"

namespace stowage::allocator {

class Arena {
 public:
  virtual ~Arena() = default;
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// First address; aligned to at least 2 MiB on CUDA, to a page on the host.
  [[nodiscard]] virtual void* base() const noexcept = 0;
  /// Bytes of address range that belong to the arena, backed or not.
  [[nodiscard]] virtual Bytes reserved() const noexcept = 0;
  /// Bytes backed by physical memory, from the base on.
  [[nodiscard]] virtual Bytes mapped() const noexcept = 0;
  /// Backs at least [0, bytes). All or nothing. Error: kOutOfMemory (device full, or beyond reserved()).
  virtual Status grow(Bytes bytes) = 0;
};

// Backends live in <name>_backend.h and meet the concept in backend.h; make_arena(backend, reserved, mapped)
// there returns Result<std::unique_ptr<Arena>>.

}  // namespace stowage::allocator
