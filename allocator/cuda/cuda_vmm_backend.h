// CUDA device memory through the driver's virtual memory management: the backend of choice, since it can grow
// in place.
//
// Each map() is one physical allocation, however large: mapping and access calls cost tens of microseconds
// each. The handle is released once mapped (the mapping keeps the memory), so unmap() gives the memory back
// to the device. Memory is marked for GPUDirect RDMA where the device can. Legacy IPC (cudaIpcGetMemHandle)
// refuses such memory: cuda_malloc_backend.h is for its users. Thread safety: as Backend.
#pragma once

#include "allocator/arena/backend.h"

namespace stowage::allocator {

struct CudaApi;

class CudaVmmBackend {
 public:
  static constexpr bool kGrows = true;

  /// Errors: kNotFound (no CUDA runtime or device), kInvalidArgument (no such device), kUnsupported (the
  /// device or its driver cannot map memory).
  static Result<CudaVmmBackend> open(int device);

  Result<AddressRange> reserve(Bytes bytes);
  void release(AddressRange range) noexcept;
  Status map(AddressRange part);
  /// Waits for the device first: kernels may still be using the memory.
  void unmap(AddressRange part) noexcept;
  [[nodiscard]] Bytes granularity() const { return granularity_; }
  [[nodiscard]] Result<MemoryInfo> memory() const;

 private:
  CudaVmmBackend(const CudaApi& api, int device) : api_(&api), device_(device) {}
  Status read_properties();

  const CudaApi* api_;
  int device_;
  bool rdma_ = false;
  Bytes granularity_{0};
};

static_assert(Backend<CudaVmmBackend>);

}  // namespace stowage::allocator
