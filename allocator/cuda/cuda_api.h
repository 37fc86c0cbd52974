// The CUDA functions that the backends call, found in the running process: nothing of ours links to CUDA.
//
// The runtime is the one that PyTorch has loaded, so that a stand-in for it (the simulated device) is found
// too; driver functions are asked of that runtime, or of libcuda.so.1 where the runtime is older than 12.5.
// Thread safety: load() may be called from any thread; the table does not change.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

#include "core/result.h"

namespace stowage::allocator {

struct CudaApi {
  decltype(&::cudaGetDevice) get_device = nullptr;
  decltype(&::cudaSetDevice) set_device = nullptr;
  decltype(&::cudaGetDeviceCount) get_device_count = nullptr;
  decltype(&::cudaDeviceSynchronize) synchronize = nullptr;
  decltype(&::cudaMemGetInfo) memory_info = nullptr;
  decltype(&::cudaMemcpy) copy = nullptr;
  cudaError_t (*malloc)(void**, std::size_t) = nullptr;
  decltype(&::cudaFree) free = nullptr;
  decltype(&::cudaGetLastError) last_error = nullptr;
  decltype(&::cudaGetErrorString) error_string = nullptr;

  decltype(&::cuDeviceGetAttribute) device_attribute = nullptr;
  decltype(&::cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&::cuMemAddressReserve) address_reserve = nullptr;
  decltype(&::cuMemAddressFree) address_free = nullptr;
  decltype(&::cuMemCreate) create = nullptr;
  decltype(&::cuMemRelease) release = nullptr;
  decltype(&::cuMemMap) map = nullptr;
  decltype(&::cuMemUnmap) unmap = nullptr;
  decltype(&::cuMemSetAccess) set_access = nullptr;
  decltype(&::cuGetErrorString) driver_error_string = nullptr;
  bool has_driver = false;  ///< the driver functions above are there

  /// The process's table, found on the first call that succeeds. Error kNotFound: no CUDA runtime.
  static Result<const CudaApi*> load();

  /// "what: the runtime's words for `status` (number)".
  [[nodiscard]] std::string describe(const char* what, cudaError_t status) const;
  [[nodiscard]] std::string describe(const char* what, CUresult status) const;
};

/// Makes `device` current for the calling thread, and what was current again at the end.
class CudaDeviceGuard {
 public:
  CudaDeviceGuard(const CudaApi& api, int device);
  ~CudaDeviceGuard();
  CudaDeviceGuard(const CudaDeviceGuard&) = delete;
  CudaDeviceGuard& operator=(const CudaDeviceGuard&) = delete;
  /// The result of switching to the device.
  [[nodiscard]] cudaError_t status() const { return status_; }

 private:
  const CudaApi& api_;
  int previous_ = -1;
  cudaError_t status_ = cudaSuccess;
};

/// The table, once `device` is there and current for a moment. Errors: kNotFound (no runtime),
/// kInvalidArgument.
Result<const CudaApi*> open_cuda_device(int device);

/// Free and total bytes of `device`. Error: kInternal with CUDA's words.
struct MemoryInfo;
Result<MemoryInfo> cuda_memory_info(const CudaApi& api, int device);

}  // namespace stowage::allocator
