// Addresses of one simulated device: one huge reserved range of the process that nothing else can land in.
//
// Why: a simulated pointer must be told from a host pointer by its value alone, cost no memory, and fault
// when it is touched outside live device memory. Freed addresses are reused as late as possible (next fit),
// so that a stale pointer faults rather than reads somebody else's bytes. Thread safety: none; the Machine's
// lock guards it. Invariant: a byte is readable only between open() and close().
#pragma once

#include <cstdint>
#include <map>

namespace stowage::simulator {

inline constexpr std::uint64_t kHostPageBytes = 4096;
inline constexpr std::uint64_t kDevicePageBytes = std::uint64_t{2} << 20;  // what cuMemCreate deals in

/// `bytes` rounded up to a multiple of `step`. Requires: step > 0.
constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t step) {
  return (bytes + step - 1) / step * step;
}

inline std::uintptr_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

class AddressSpace {
 public:
  /// Reserves `bytes` of address space without any memory. Error: ends the process with a message when
  /// refused.
  explicit AddressSpace(std::uint64_t bytes);
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  /// Takes a range of `bytes` (a multiple of the host page), aligned to `alignment`. Returns 0 when none is
  /// left.
  std::uintptr_t take(std::uint64_t bytes, std::uint64_t alignment);
  /// Gives a taken range back. Requires: closed.
  void give_back(std::uintptr_t address, std::uint64_t bytes);

  /// Makes a range readable and writable; its bytes are zero. Returns false when the system refuses.
  bool open(std::uintptr_t address, std::uint64_t bytes);
  /// Drops the contents; touching the range is a fault from now on.
  void close(std::uintptr_t address, std::uint64_t bytes);

  bool contains(std::uintptr_t address) const { return address - base_ < bytes_; }
  std::uintptr_t base() const { return base_; }

 private:
  using FreeRanges = std::map<std::uintptr_t, std::uint64_t>;  // start → bytes
  std::uintptr_t carve(FreeRanges::iterator range, std::uintptr_t from, std::uint64_t bytes,
                       std::uint64_t alignment);

  std::uintptr_t base_ = 0;
  std::uint64_t bytes_ = 0;
  std::uintptr_t cursor_ = 0;
  FreeRanges free_;
};

}  // namespace stowage::simulator
