// CUDA device memory from cudaMalloc: for jobs that share memory by legacy IPC or register it with RDMA
// libraries which refuse mapped memory. One piece of fixed size: an arena on it never grows beyond its first
// mapping.
//
// Thread safety: as Backend.
#pragma once

#include "allocator/arena/backend.h"

namespace stowage::allocator {

struct CudaApi;

class CudaMallocBackend {
 public:
  static constexpr bool kGrows = false;

  /// Errors: kNotFound (no CUDA runtime or device), kInvalidArgument (no such device).
  static Result<CudaMallocBackend> open(int device);

  Result<AddressRange> reserve(Bytes bytes);
  void release(AddressRange range) noexcept;
  Status map(AddressRange) { return {}; }
  void unmap(AddressRange) noexcept {}
  /// What cudaMalloc rounds large sizes to.
  [[nodiscard]] Bytes granularity() const { return Bytes(2u << 20); }
  [[nodiscard]] Result<MemoryInfo> memory() const;

 private:
  CudaMallocBackend(const CudaApi& api, int device) : api_(&api), device_(device) {}

  const CudaApi* api_;
  int device_;
};

static_assert(Backend<CudaMallocBackend>);

}  // namespace stowage::allocator
