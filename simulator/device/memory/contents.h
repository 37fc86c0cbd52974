// Which device bytes hold what a program put there: ranges last written by a copy from the host, a fill, or a
// copy of such a range.
//
// Why: kernels write nothing here, so device memory also holds leftovers of earlier tensors. A program that
// reads a count or a flag that a kernel should have computed must get zero, which is safe nearly everywhere
// (no index out of range, no infinity found), never a leftover; a program that reads back what it uploaded
// must get that. The sign of "the same tensor" is the exact range. Thread safety: none; the Machine's lock
// guards it. Invariant: ranges do not overlap.
#pragma once

#include <cstdint>
#include <map>

namespace stowage::simulator {

class Contents {
 public:
  /// [address, address + bytes) now holds known bytes; what was known of parts of it is forgotten.
  void remember(std::uintptr_t address, std::uint64_t bytes);
  void forget(std::uintptr_t address, std::uint64_t bytes);
  /// True when exactly this range was remembered and nothing was written into it since.
  bool knows(std::uintptr_t address, std::uint64_t bytes) const;

 private:
  std::map<std::uintptr_t, std::uint64_t> ranges_;  // start → bytes
};

}  // namespace stowage::simulator
