// The memory of one simulated device: a limit, blocks from cudaMalloc, and physical memory that VMM calls
// map.
//
// Why: sizes, order and failure of allocations are what a memory planner is about, so they are modelled in
// full, with every rule checked. Thread safety: none; the Machine's lock guards it. Invariants: used_bytes =
// blocks' bytes + live physical bytes <= limit_bytes; a range is open exactly while it belongs to a block or
// to a mapping with access; mappings lie inside one reservation and do not overlap.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <unordered_map>

#include "simulator/device/memory/address_space.h"

namespace stowage::simulator {

/// Physical memory made by cuMemCreate. It lives while it has a reference or a mapping.
struct Physical {
  std::uint64_t bytes = 0;
  std::int64_t references = 1;
  std::int64_t mappings = 0;
};

class DeviceMemory {
 public:
  DeviceMemory(int device, std::uint64_t limit_bytes);

  /// Memory of cudaMalloc. Errors: CUDA_ERROR_OUT_OF_MEMORY.
  CUresult allocate(std::uint64_t bytes, std::uintptr_t* address);
  /// Errors: CUDA_ERROR_INVALID_VALUE for anything but a live block's start.
  CUresult release(std::uintptr_t address);

  /// A range of addresses with nothing behind it. Requires: bytes a positive multiple of kDevicePageBytes.
  CUresult reserve(std::uint64_t bytes, std::uint64_t alignment, std::uintptr_t* address);
  CUresult unreserve(std::uintptr_t address, std::uint64_t bytes);

  CUresult create(std::uint64_t bytes, CUmemGenericAllocationHandle* handle);
  CUresult retain(std::uintptr_t address, CUmemGenericAllocationHandle* handle);
  CUresult drop(CUmemGenericAllocationHandle handle);
  const Physical* physical(CUmemGenericAllocationHandle handle) const;

  CUresult map(std::uintptr_t address, std::uint64_t bytes, std::uint64_t offset,
               CUmemGenericAllocationHandle handle);
  CUresult unmap(std::uintptr_t address, std::uint64_t bytes);
  CUresult set_access(std::uintptr_t address, std::uint64_t bytes, bool accessible);

  /// CUDA_SUCCESS when all of [address, address + bytes) is live, accessible memory.
  CUresult check_range(std::uintptr_t address, std::uint64_t bytes, const char* what) const;
  /// The block, mapping or reservation around `address`. Returns false when there is none.
  bool range_around(std::uintptr_t address, std::uintptr_t* start, std::uint64_t* bytes) const;
  bool is_live(std::uintptr_t address) const;

  bool owns(std::uintptr_t address) const { return addresses_.contains(address); }
  std::uint64_t limit_bytes() const { return limit_bytes_; }
  std::uint64_t used_bytes() const { return used_bytes_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }
  void reset_peak() { peak_bytes_ = used_bytes_; }

  /// Calls `print(kind, address, bytes)` for everything still held; returns how many there are.
  template <typename Print>
  std::int64_t each_held(Print print) const;

 private:
  struct Mapping {
    std::uint64_t bytes;
    CUmemGenericAllocationHandle handle;
    bool accessible;
  };
  struct Block {
    std::uint64_t bytes;    // as asked
    std::uint64_t charged;  // of the device's memory
    std::uint64_t span;     // of addresses
  };
  using Mappings = std::map<std::uintptr_t, Mapping>;

  bool charge(std::uint64_t bytes);
  void discharge(std::uint64_t bytes) { used_bytes_ -= bytes; }
  void forget_if_dead(CUmemGenericAllocationHandle handle);
  bool inside_reservation(std::uintptr_t address, std::uint64_t bytes) const;
  bool touches_mapping(std::uintptr_t address, std::uint64_t bytes) const;
  bool covers_whole_mappings(std::uintptr_t address, std::uint64_t bytes) const;
  Mappings::const_iterator mapping_around(std::uintptr_t address) const;

  int device_;
  std::uint64_t limit_bytes_;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  AddressSpace addresses_;
  std::map<std::uintptr_t, Block> blocks_;
  std::map<std::uintptr_t, std::uint64_t> reservations_;  // start → bytes
  Mappings mappings_;
  std::unordered_map<CUmemGenericAllocationHandle, Physical> physicals_;
};

template <typename Print>
std::int64_t DeviceMemory::each_held(Print print) const {
  for (const auto& [address, block] : blocks_) print("cudaMalloc block", address, block.bytes);
  for (const auto& [address, mapping] : mappings_) print("mapping", address, mapping.bytes);
  for (const auto& [address, bytes] : reservations_) print("address reservation", address, bytes);
  for (const auto& [handle, physical] : physicals_) print("cuMemCreate handle", handle, physical.bytes);
  return static_cast<std::int64_t>(blocks_.size() + mappings_.size() + reservations_.size() +
                                   physicals_.size());
}

}  // namespace stowage::simulator
