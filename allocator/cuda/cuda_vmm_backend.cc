#include "allocator/cuda/cuda_vmm_backend.h"

#include <algorithm>

#include "allocator/cuda/cuda_api.h"

namespace stowage::allocator {
namespace {

constexpr Bytes kAlignment{2u << 20};  // arena.h promises it

CUmemAllocationProp properties(int device, bool rdma) {
  CUmemAllocationProp made{};
  made.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  made.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  made.location.id = device;
  made.allocFlags.gpuDirectRDMACapable = rdma ? 1 : 0;
  return made;
}

CUdeviceptr device_pointer(const char* address) { return reinterpret_cast<CUdeviceptr>(address); }

Error driver_error(const CudaApi& api, const char* call, CUresult status, Bytes bytes) {
  const ErrorCode code = status == CUDA_ERROR_OUT_OF_MEMORY ? ErrorCode::kOutOfMemory : ErrorCode::kInternal;
  return Error{code, api.describe(call, status) + ", for " + std::to_string(bytes.value()) +
                         " bytes: free device memory or plan with a lower budget"};
}

}  // namespace

Result<CudaVmmBackend> CudaVmmBackend::open(int device) {
  Result<const CudaApi*> api = open_cuda_device(device);
  if (!api.ok()) return api.error();
  if (!(*api)->has_driver) {
    return Error{ErrorCode::kUnsupported,
                 "the CUDA driver has no virtual memory management: use the cudaMalloc arena"};
  }
  CudaVmmBackend backend(**api, device);
  if (Status read = backend.read_properties(); !read.ok()) return read.error();
  return backend;
}

Status CudaVmmBackend::read_properties() {
  int maps = 0;
  int rdma = 0;
  (void)api_->device_attribute(&maps, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device_);
  if (maps == 0) {
    return Error{ErrorCode::kUnsupported,
                 "the CUDA device has no virtual memory management: use the cudaMalloc arena"};
  }
  (void)api_->device_attribute(&rdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, device_);
  rdma_ = rdma != 0;
  const CUmemAllocationProp wanted = properties(device_, rdma_);
  std::size_t unit = 0;
  const CUresult status = api_->granularity(&unit, &wanted, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
  if (status != CUDA_SUCCESS) return driver_error(*api_, "cuMemGetAllocationGranularity", status, Bytes(0));
  granularity_ = std::max(Bytes(unit), kGranule);
  return {};
}

Result<AddressRange> CudaVmmBackend::reserve(Bytes bytes) {
  CUdeviceptr base = 0;
  const CUresult status = api_->address_reserve(&base, bytes.value(), kAlignment.value(), 0, 0);
  if (status != CUDA_SUCCESS) return driver_error(*api_, "cuMemAddressReserve", status, bytes);
  return AddressRange{reinterpret_cast<char*>(base), bytes};
}

void CudaVmmBackend::release(AddressRange range) noexcept {
  (void)api_->address_free(device_pointer(range.base), range.bytes.value());
}

Status CudaVmmBackend::map(AddressRange part) {
  const CUmemAllocationProp wanted = properties(device_, rdma_);
  CUmemGenericAllocationHandle handle = 0;
  CUresult status = api_->create(&handle, part.bytes.value(), &wanted, 0);
  if (status != CUDA_SUCCESS) return driver_error(*api_, "cuMemCreate", status, part.bytes);
  status = api_->map(device_pointer(part.base), part.bytes.value(), 0, handle, 0);
  (void)api_->release(handle);  // the mapping keeps the memory; without one it goes back now
  if (status != CUDA_SUCCESS) return driver_error(*api_, "cuMemMap", status, part.bytes);
  CUmemAccessDesc access{};
  access.location = wanted.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  status = api_->set_access(device_pointer(part.base), part.bytes.value(), &access, 1);
  if (status == CUDA_SUCCESS) return {};
  (void)api_->unmap(device_pointer(part.base), part.bytes.value());
  return driver_error(*api_, "cuMemSetAccess", status, part.bytes);
}

void CudaVmmBackend::unmap(AddressRange part) noexcept {
  const CudaDeviceGuard guard(*api_, device_);
  (void)api_->synchronize();
  (void)api_->unmap(device_pointer(part.base), part.bytes.value());
}

Result<MemoryInfo> CudaVmmBackend::memory() const { return cuda_memory_info(*api_, device_); }

}  // namespace stowage::allocator
