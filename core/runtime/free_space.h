// Where in an allocator's memory one piece of it may be made free.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <vector>

namespace stowage {

/// Addresses [begin, end).
struct AddressRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// The ranges that the piece may lie in, and what of them holds nothing now. Both ascending and
/// disjoint.
struct FreeSpace {
  std::vector<AddressRange> whole;
  std::vector<AddressRange> free;
};

}  // namespace stowage
