#include "simulator/device/memory/host_memory.h"

#include <sys/mman.h>

#include <iterator>

#include "simulator/device/memory/address_space.h"
#include "simulator/device/memory/misuse.h"

namespace stowage::simulator {

CUresult HostMemory::allocate(std::uint64_t bytes, void** address) {
  const std::uint64_t span = round_up(bytes == 0 ? 1 : bytes, kHostPageBytes);
  void* const made = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  ranges_.emplace(reinterpret_cast<std::uintptr_t>(made), Range{span, true});
  *address = made;
  return CUDA_SUCCESS;
}

CUresult HostMemory::release(void* address) {
  const auto found = ranges_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == ranges_.end() || !found->second.owned) {
    return misuse(CUDA_ERROR_INVALID_VALUE, "cudaFreeHost of %p, which cudaHostAlloc did not make", address);
  }
  munmap(address, found->second.bytes);
  ranges_.erase(found);
  return CUDA_SUCCESS;
}

CUresult HostMemory::add(void* address, std::uint64_t bytes) {
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  if (contains(start)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  ranges_.emplace(start, Range{bytes, false});
  return CUDA_SUCCESS;
}

CUresult HostMemory::remove(void* address) {
  const auto found = ranges_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == ranges_.end() || found->second.owned) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  ranges_.erase(found);
  return CUDA_SUCCESS;
}

bool HostMemory::contains(std::uintptr_t address) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return false;
  const auto before = std::prev(after);
  return address - before->first < before->second.bytes;
}

}  // namespace stowage::simulator
