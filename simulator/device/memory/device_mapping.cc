// DeviceMemory's virtual memory management: reservations, physical handles, mappings. Rules as in the CUDA
// driver API reference, "Virtual Memory Management".
#include <iterator>

#include "simulator/device/memory/device_memory.h"
#include "simulator/device/memory/misuse.h"

namespace stowage::simulator {
namespace {

// Handles are numbers, unique among devices, never reused: a stale one is always recognised.
CUmemGenericAllocationHandle next_handle() {
  static CUmemGenericAllocationHandle last = 0x5700000000ull;
  return ++last;
}

bool is_whole_pages(std::uint64_t bytes) { return bytes > 0 && bytes % kDevicePageBytes == 0; }

unsigned long long number(std::uint64_t value) { return value; }

}  // namespace

CUresult DeviceMemory::reserve(std::uint64_t bytes, std::uint64_t alignment, std::uintptr_t* address) {
  if (!is_whole_pages(bytes) || (alignment & (alignment - 1)) != 0) {
    return misuse(CUDA_ERROR_INVALID_VALUE,
                  "cuMemAddressReserve of %llu bytes, alignment %llu: not whole pages", number(bytes),
                  number(alignment));
  }
  const std::uintptr_t at = addresses_.take(bytes, std::max(alignment, kDevicePageBytes));
  if (at == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  reservations_.emplace(at, bytes);
  *address = at;
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::unreserve(std::uintptr_t address, std::uint64_t bytes) {
  const auto found = reservations_.find(address);
  if (found == reservations_.end() || found->second != bytes) {
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemAddressFree(%#lx, %llu): no such reservation", address,
                  number(bytes));
  }
  if (touches_mapping(address, bytes)) {
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemAddressFree(%#lx, %llu): memory is still mapped in it",
                  address, number(bytes));
  }
  reservations_.erase(found);
  addresses_.give_back(address, bytes);
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::create(std::uint64_t bytes, CUmemGenericAllocationHandle* handle) {
  if (!is_whole_pages(bytes)) {
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemCreate of %llu bytes: not whole pages of 2 MiB",
                  number(bytes));
  }
  if (!charge(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = next_handle();
  physicals_.emplace(*handle, Physical{bytes, 1, 0});
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::retain(std::uintptr_t address, CUmemGenericAllocationHandle* handle) {
  const auto mapping = mapping_around(address);
  if (mapping == mappings_.end()) {
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemRetainAllocationHandle(%#lx): nothing is mapped there",
                  address);
  }
  *handle = mapping->second.handle;
  physicals_.at(*handle).references += 1;
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::drop(CUmemGenericAllocationHandle handle) {
  const auto found = physicals_.find(handle);
  if (found == physicals_.end() || found->second.references == 0) {
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemRelease(%#llx): the handle was released or never made",
                  number(handle));
  }
  found->second.references -= 1;
  forget_if_dead(handle);
  return CUDA_SUCCESS;
}

const Physical* DeviceMemory::physical(CUmemGenericAllocationHandle handle) const {
  const auto found = physicals_.find(handle);
  return found == physicals_.end() ? nullptr : &found->second;
}

void DeviceMemory::forget_if_dead(CUmemGenericAllocationHandle handle) {
  const auto found = physicals_.find(handle);
  if (found->second.references > 0 || found->second.mappings > 0) return;
  discharge(found->second.bytes);
  physicals_.erase(found);
}

CUresult DeviceMemory::map(std::uintptr_t address, std::uint64_t bytes, std::uint64_t offset,
                           CUmemGenericAllocationHandle handle) {
  const auto found = physicals_.find(handle);
  const char* wrong = nullptr;
  if (found == physicals_.end() || found->second.references == 0) {
    wrong = "the handle was released or never made";
  } else if (offset != 0 || bytes > found->second.bytes) {
    wrong = "it asks for more than the handle holds, or for an offset";
  } else if (!is_whole_pages(bytes) || address % kDevicePageBytes != 0) {
    wrong = "not whole pages of 2 MiB";
  } else if (!inside_reservation(address, bytes)) {
    wrong = "outside every reservation";
  } else if (touches_mapping(address, bytes)) {
    wrong = "something is mapped there already";
  }
  if (wrong != nullptr) {
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemMap(%#lx, %llu): %s", address, number(bytes), wrong);
  }
  mappings_.emplace(address, Mapping{bytes, handle, false});
  found->second.mappings += 1;
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::unmap(std::uintptr_t address, std::uint64_t bytes) {
  if (!covers_whole_mappings(address, bytes)) {
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemUnmap(%#lx, %llu): not a run of whole mappings", address,
                  number(bytes));
  }
  for (auto mapping = mappings_.find(address);
       mapping != mappings_.end() && mapping->first < address + bytes;) {
    const CUmemGenericAllocationHandle handle = mapping->second.handle;
    addresses_.close(mapping->first, mapping->second.bytes);
    mapping = mappings_.erase(mapping);
    physicals_.at(handle).mappings -= 1;
    forget_if_dead(handle);
  }
  return CUDA_SUCCESS;
}

CUresult DeviceMemory::set_access(std::uintptr_t address, std::uint64_t bytes, bool accessible) {
  if (!covers_whole_mappings(address, bytes)) {
    return misuse(CUDA_ERROR_INVALID_VALUE, "cuMemSetAccess(%#lx, %llu): not a run of whole mappings",
                  address, number(bytes));
  }
  for (auto mapping = mappings_.find(address); mapping != mappings_.end() && mapping->first < address + bytes;
       ++mapping) {
    if (mapping->second.accessible == accessible) continue;
    if (!accessible) addresses_.close(mapping->first, mapping->second.bytes);
    if (accessible && !addresses_.open(mapping->first, mapping->second.bytes))
      return CUDA_ERROR_OUT_OF_MEMORY;
    mapping->second.accessible = accessible;
  }
  return CUDA_SUCCESS;
}

DeviceMemory::Mappings::const_iterator DeviceMemory::mapping_around(std::uintptr_t address) const {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return mappings_.end();
  const auto before = std::prev(after);
  return address - before->first < before->second.bytes ? before : mappings_.end();
}

bool DeviceMemory::inside_reservation(std::uintptr_t address, std::uint64_t bytes) const {
  const auto after = reservations_.upper_bound(address);
  if (after == reservations_.begin()) return false;
  const auto& [start, length] = *std::prev(after);
  return address - start <= length && bytes <= length - (address - start);
}

bool DeviceMemory::touches_mapping(std::uintptr_t address, std::uint64_t bytes) const {
  const auto at_or_after = mappings_.lower_bound(address);
  if (at_or_after != mappings_.end() && at_or_after->first < address + bytes) return true;
  return mapping_around(address) != mappings_.end();
}

bool DeviceMemory::covers_whole_mappings(std::uintptr_t address, std::uint64_t bytes) const {
  std::uintptr_t at = address;
  while (at < address + bytes) {
    const auto mapping = mappings_.find(at);
    if (mapping == mappings_.end()) return false;
    at += mapping->second.bytes;
  }
  return bytes > 0 && at == address + bytes;
}

}  // namespace stowage::simulator
