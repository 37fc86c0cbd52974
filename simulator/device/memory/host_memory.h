// Page-locked host memory: what cudaHostAlloc made and what cudaHostRegister declared.
//
// Why: copies from page-locked memory are asynchronous and others are not, and PyTorch's pinned-memory cache
// frees by events. Thread safety: none; the Machine's lock guards it. Invariant: ranges do not overlap.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>

namespace stowage::simulator {

class HostMemory {
 public:
  /// Zero-filled, page-aligned memory. Errors: CUDA_ERROR_OUT_OF_MEMORY.
  CUresult allocate(std::uint64_t bytes, void** address);
  CUresult release(void* address);
  CUresult add(void* address, std::uint64_t bytes);
  CUresult remove(void* address);
  bool contains(std::uintptr_t address) const;

 private:
  struct Range {
    std::uint64_t bytes;
    bool owned;  // made by allocate()
  };
  std::map<std::uintptr_t, Range> ranges_;
};

}  // namespace stowage::simulator
