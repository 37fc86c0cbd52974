// Host memory as a backend: an inaccessible mapping is the reservation, and access is given from the base on.
//
// Memory is committed when it is first touched, as with malloc; map() fails only where the kernel refuses the
// commit.
#pragma once

#include "allocator/arena/backend.h"

namespace stowage::allocator {

class HostBackend {
 public:
  static constexpr bool kGrows = true;

  /// `huge_pages`: large parts ask for them (madvise). The first touch of one may take five times as long
  /// as that of small pages where a hypervisor has to find the memory.
  explicit HostBackend(bool huge_pages = false) : huge_pages_(huge_pages) {}

  Result<AddressRange> reserve(Bytes bytes);
  void release(AddressRange range) noexcept;
  Status map(AddressRange part);
  void unmap(AddressRange part) noexcept;
  /// The size of a page.
  [[nodiscard]] Bytes granularity() const;
  /// Free counts what the kernel could make free without swapping.
  [[nodiscard]] Result<MemoryInfo> memory() const;

 private:
  bool huge_pages_;
};

static_assert(Backend<HostBackend>);

}  // namespace stowage::allocator
