// Host memory as a backend: an inaccessible mapping is the reservation, and access is given from the base on.
//
// Large parts ask for huge pages (madvise), as PyTorch's CPU allocator does not: a plan's arena is one range
// that stays. Memory is committed when it is first touched, as with malloc; map() fails only where the kernel
// refuses the commit.
#pragma once

#include "allocator/arena/backend.h"

namespace stowage::allocator {

class HostBackend {
 public:
  static constexpr bool kGrows = true;

  Result<AddressRange> reserve(Bytes bytes);
  void release(AddressRange range) noexcept;
  Status map(AddressRange part);
  void unmap(AddressRange part) noexcept;
  /// The size of a page.
  [[nodiscard]] Bytes granularity() const;
  /// Free counts what the kernel could make free without swapping.
  [[nodiscard]] Result<MemoryInfo> memory() const;
};

static_assert(Backend<HostBackend>);

}  // namespace stowage::allocator
