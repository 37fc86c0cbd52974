#include "allocator/cuda/cuda_malloc_backend.h"

#include "allocator/cuda/cuda_api.h"

namespace stowage::allocator {

Result<CudaMallocBackend> CudaMallocBackend::open(int device) {
  Result<const CudaApi*> api = open_cuda_device(device);
  if (!api.ok()) return api.error();
  return CudaMallocBackend(**api, device);
}

Result<AddressRange> CudaMallocBackend::reserve(Bytes bytes) {
  const CudaDeviceGuard guard(*api_, device_);
  void* base = nullptr;
  const cudaError_t status = api_->malloc(&base, bytes.value());
  if (status == cudaSuccess) return AddressRange{static_cast<char*>(base), bytes};
  (void)api_->last_error();  // else the job's next call would report it
  const ErrorCode code = status == cudaErrorMemoryAllocation ? ErrorCode::kOutOfMemory : ErrorCode::kInternal;
  return Error{code, api_->describe("cudaMalloc", status) + ", for " + std::to_string(bytes.value()) +
                         " bytes: free device memory or plan with a lower budget"};
}

void CudaMallocBackend::release(AddressRange range) noexcept {
  const CudaDeviceGuard guard(*api_, device_);
  (void)api_->free(range.base);
}

Result<MemoryInfo> CudaMallocBackend::memory() const { return cuda_memory_info(*api_, device_); }

}  // namespace stowage::allocator
