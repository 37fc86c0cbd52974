// libcuda stand-in: virtual memory management and questions about addresses.
#include <cstring>

#include "simulator/stand_ins/api.h"

using namespace stowage::simulator;

namespace {

void* pointer_of(CUdeviceptr address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

/// The device whose address space holds `address`, or null with a message.
DeviceMemory* owner(Machine& machine, CUdeviceptr address, const char* call_name) {
  DeviceMemory* const memory = machine.memory_of(address);
  if (memory == nullptr)
    misuse(CUDA_ERROR_INVALID_VALUE, "%s of %#llx, which is no device address", call_name, address);
  return memory;
}

DeviceMemory* owner_of_handle(Machine& machine, CUmemGenericAllocationHandle handle) {
  for (int device = 0; device < machine.devices(); ++device) {
    if (machine.memory(device).physical(handle) != nullptr) return &machine.memory(device);
  }
  return nullptr;
}

bool is_on_device(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE && is_device(location.id);
}

}  // namespace

SIM_API CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*,
                                               CUmemAllocationGranularity_flags) {
  *bytes = kDevicePageBytes;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr,
                                     unsigned long long) {
  SIM_DRIVER_CALL(cuMemAddressReserve);
  Call call;
  call->counts.vmm_calls += 1;
  std::uintptr_t at = 0;
  const CUresult result = call->memory(current_device()).reserve(bytes, alignment, &at);
  if (result == CUDA_SUCCESS) *address = at;
  return result;
}

SIM_API CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  SIM_DRIVER_CALL(cuMemAddressFree);
  Call call;
  call->counts.vmm_calls += 1;
  DeviceMemory* const memory = owner(*call, address, "cuMemAddressFree");
  return memory == nullptr ? CUDA_ERROR_INVALID_VALUE : memory->unreserve(address, bytes);
}

SIM_API CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                             const CUmemAllocationProp* properties, unsigned long long) {
  SIM_DRIVER_CALL(cuMemCreate);
  if (properties == nullptr || !is_on_device(properties->location)) return CUDA_ERROR_INVALID_DEVICE;
  Call call;
  call->counts.vmm_calls += 1;
  const CUresult result = call->memory(properties->location.id).create(bytes, handle);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) call->counts.out_of_memory += 1;
  return result;
}

SIM_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  SIM_DRIVER_CALL(cuMemRelease);
  Call call;
  call->counts.vmm_calls += 1;
  DeviceMemory* const memory = owner_of_handle(*call, handle);
  return memory == nullptr ? call->memory(0).drop(handle) : memory->drop(handle);
}

SIM_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  Call call;
  DeviceMemory* const memory = owner(*call, address_of(address), "cuMemRetainAllocationHandle");
  return memory == nullptr ? CUDA_ERROR_INVALID_VALUE : memory->retain(address_of(address), handle);
}

SIM_API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* into,
                                                        CUmemGenericAllocationHandle handle) {
  Call call;
  for (int device = 0; device < call->devices(); ++device) {
    if (call->memory(device).physical(handle) == nullptr) continue;
    std::memset(into, 0, sizeof *into);
    into->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    into->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    into->location.id = device;
    return CUDA_SUCCESS;
  }
  return misuse(CUDA_ERROR_INVALID_VALUE, "properties of %#llx, which is no live handle", handle);
}

SIM_API CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long) {
  SIM_DRIVER_CALL(cuMemMap);
  Call call;
  call->counts.vmm_calls += 1;
  DeviceMemory* const memory = owner(*call, address, "cuMemMap");
  return memory == nullptr ? CUDA_ERROR_INVALID_VALUE : memory->map(address, bytes, offset, handle);
}

SIM_API CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  SIM_DRIVER_CALL(cuMemUnmap);
  Call call;
  call->counts.vmm_calls += 1;
  DeviceMemory* const memory = owner(*call, address, "cuMemUnmap");
  return memory == nullptr ? CUDA_ERROR_INVALID_VALUE : memory->unmap(address, bytes);
}

SIM_API CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* wanted,
                                size_t count) {
  SIM_DRIVER_CALL(cuMemSetAccess);
  Call call;
  call->counts.vmm_calls += 1;
  DeviceMemory* const memory = owner(*call, address, "cuMemSetAccess");
  if (memory == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  const int home = call->device_of(address);
  for (size_t at = 0; at < count; ++at) {
    if (!is_on_device(wanted[at].location)) return CUDA_ERROR_INVALID_DEVICE;
    if (wanted[at].location.id != home) continue;  // a peer's rights change nothing that can be seen here
    const bool accessible = wanted[at].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (const CUresult wrong = memory->set_access(address, bytes, accessible)) return wrong;
  }
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemExportToShareableHandle(void*, CUmemGenericAllocationHandle, CUmemAllocationHandleType,
                                              unsigned long long) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

SIM_API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle*, void*,
                                                CUmemAllocationHandleType) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

SIM_API CUresult cuMemGetHandleForAddressRange(void*, CUdeviceptr, size_t, CUmemRangeHandleType,
                                               unsigned long long) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

SIM_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* start, size_t* bytes, CUdeviceptr address) {
  Call call;
  const DeviceMemory* const memory = call->memory_of(address);
  std::uintptr_t found = 0;
  std::uint64_t length = 0;
  if (memory == nullptr || !memory->range_around(address, &found, &length)) return CUDA_ERROR_NOT_FOUND;
  if (start != nullptr) *start = found;
  if (bytes != nullptr) *bytes = length;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  SIM_DRIVER_CALL(cuMemAlloc_v2);
  void* pointer = nullptr;
  const cudaError_t error = cudaMalloc(&pointer, bytes);
  *address = address_of(pointer);
  return static_cast<CUresult>(error);
}

SIM_API CUresult cuMemFree_v2(CUdeviceptr address) {
  SIM_DRIVER_CALL(cuMemFree_v2);
  return static_cast<CUresult>(cudaFree(pointer_of(address)));
}

SIM_API CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  return static_cast<CUresult>(cudaMemGetInfo(free_bytes, total_bytes));
}

SIM_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  SIM_DRIVER_CALL(cuMemcpyAsync);
  return copy_on(stream, pointer_of(to), pointer_of(from), bytes, false);
}

SIM_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  SIM_DRIVER_CALL(cuMemcpyDtoDAsync_v2);
  return copy_on(stream, pointer_of(to), pointer_of(from), bytes, false);
}

SIM_API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  SIM_DRIVER_CALL(cuMemsetD32Async);
  return fill_on(stream, pointer_of(to), value, count * sizeof value, sizeof value, false);
}

SIM_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  SIM_DRIVER_CALL(cuMemsetD8Async);
  return fill_on(stream, pointer_of(to), value, count, 1, false);
}

SIM_API CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned) {
  return fill_on(stream, pointer_of(to), value, sizeof value, sizeof value, false);
}

SIM_API CUresult cuPointerGetAttribute(void* into, CUpointer_attribute attribute, CUdeviceptr address) {
  Call call;
  const int device = call->device_of(address);
  const bool is_host = device < 0 && call->host_memory.contains(address);
  if (device < 0 && !is_host) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(into) =
          reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(std::max(device, 0) + 1));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(into) = is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(into) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(into) = std::max(device, 0);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}
