#include "simulator/device/memory/device_memory.h"

#include <algorithm>
#include <iterator>

#include "simulator/device/memory/misuse.h"

namespace stowage::simulator {
namespace {

constexpr std::uint64_t kAddressSpaceBytes = std::uint64_t{8}
                                             << 40;  // room for a hundred 80 GiB reservations
constexpr std::uint64_t kSmallBlockBytes = std::uint64_t{1} << 20;

/// What cudaMalloc takes from the device: pages for large blocks; small ones share pages.
std::uint64_t charge_of(std::uint64_t bytes) {
  return bytes >= kSmallBlockBytes ? round_up(bytes, kDevicePageBytes) : round_up(bytes, 512);
}

/// The entry of an address-ordered map whose [start, start + bytes) may hold `address`, or end().
template <typename Map>
auto entry_before(Map& map, std::uintptr_t address) {
  auto entry = map.upper_bound(address);
  return entry == map.begin() ? map.end() : std::prev(entry);
}

unsigned long long number(std::uint64_t value) { return value; }

}  // namespace

DeviceMemory::DeviceMemory(int device, std::uint64_t limit_bytes)
    : device_(device), limit_bytes_(limit_bytes), addresses_(kAddressSpaceBytes) {}

bool DeviceMemory::charge(std::uint64_t bytes) {
  if (bytes > limit_bytes_ - used_bytes_) return false;
  used_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, used_bytes_);
  return true;
}

CUresult DeviceMemory::allocate(std::uint64_t bytes, std::uintptr_t* address) {
  const Block block{bytes, charge_of(bytes), round_up(std::max<std::uint64_t>(bytes, 1), kHostPageBytes)};
  if (bytes > limit_bytes_ || !charge(block.charged)) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::uint64_t alignment = bytes >= kSmallBlockBytes ? kDevicePageBytes : kHostPageBytes;
  const std::uintptr_t at = addresses_.take(block.span, alignment);
  if (at == 0 || !addresses_.open(at, block.span)) {
    if (at != 0) addresses_.give_back(at, block.span);
    discharge(block.charged);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  blocks_.emplace(at, block);
  *address = at;
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::release(std::uintptr_t address) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) {
    return misuse(CUDA_ERROR_INVALID_VALUE,
                  "free of %#lx on device %d, which is not the start of a live block", address, device_);
  }
  addresses_.close(address, found->second.span);
  addresses_.give_back(address, found->second.span);
  discharge(found->second.charged);
  blocks_.erase(found);
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::check_range(std::uintptr_t address, std::uint64_t bytes, const char* what) const {
  if (const auto block = entry_before(blocks_, address);
      block != blocks_.end() && address - block->first < block->second.span) {
    if (address + bytes <= block->first + block->second.span) return CUDA_SUCCESS;
    return misuse(CUDA_ERROR_ILLEGAL_ADDRESS, "%s of %llu bytes at %#lx runs past the end of its block", what,
                  number(bytes), address);
  }
  std::uintptr_t at = address;
  while (at < address + bytes) {
    const auto mapping = mapping_around(at);
    if (mapping == mappings_.end() || !mapping->second.accessible) {
      return misuse(CUDA_ERROR_ILLEGAL_ADDRESS,
                    "%s of %llu bytes at %#lx touches %#lx, which is not live memory", what, number(bytes),
                    address, at);
    }
    at = mapping->first + mapping->second.bytes;
  }
  return CUDA_SUCCESS;
}

bool DeviceMemory::is_live(std::uintptr_t address) const {
  const auto block = entry_before(blocks_, address);
  if (block != blocks_.end() && address - block->first < block->second.span) return true;
  const auto mapping = mapping_around(address);
  return mapping != mappings_.end() && mapping->second.accessible;
}

bool DeviceMemory::range_around(std::uintptr_t address, std::uintptr_t* start, std::uint64_t* bytes) const {
  const auto block = entry_before(blocks_, address);
  if (block != blocks_.end() && address - block->first < block->second.span) {
    *start = block->first;
    *bytes = block->second.bytes;
    return true;
  }
  const auto range = entry_before(reservations_, address);
  if (range == reservations_.end() || address - range->first >= range->second) return false;
  *start = range->first;
  *bytes = range->second;
  return true;
}

}  // namespace stowage::simulator
