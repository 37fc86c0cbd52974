// libcudart stand-in: device memory, its pools, pinned host memory, pointer attributes.
#include <cstring>

#include "simulator/stand_ins/api.h"

using namespace stowage::simulator;

namespace {

CUresult allocate_on(int device, size_t bytes, void** pointer) {
  Call call;
  *pointer = nullptr;
  if (bytes == 0) return CUDA_SUCCESS;
  std::uintptr_t address = 0;
  const CUresult result = call->memory(device).allocate(bytes, &address);
  if (result == CUDA_SUCCESS) {
    call->counts.mallocs += 1;
    note_memory(*call, true, reinterpret_cast<void*>(address), bytes, device);
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY) call->counts.out_of_memory += 1;
  *pointer = reinterpret_cast<void*>(address);
  return result;
}

CUresult release_device(Call& call, void* pointer) {
  DeviceMemory* const memory = call->memory_of(address_of(pointer));
  if (memory == nullptr)
    return misuse(CUDA_ERROR_INVALID_VALUE, "free of %p, which is not device memory", pointer);
  const std::uint64_t before = memory->used_bytes();
  const CUresult result = memory->release(address_of(pointer));
  if (result == CUDA_SUCCESS) {
    call->counts.frees += 1;
    note_memory(*call, false, pointer, before - memory->used_bytes(), call->device_of(address_of(pointer)));
  }
  return result;
}

}  // namespace

SIM_API cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  SIM_RUNTIME_CALL(cudaMalloc_v3020);
  {
    Call call;
    if (const auto wrong = unsafe_in_captures(*call, "cudaMalloc")) return answered(wrong);
  }
  return answered(allocate_on(current_device(), bytes, pointer));
}

SIM_API cudaError_t cudaMallocManaged(void**, size_t, unsigned) { return answered(cudaErrorNotSupported); }

SIM_API cudaError_t cudaFree(void* pointer) {
  SIM_RUNTIME_CALL(cudaFree_v3020);
  if (pointer == nullptr) return cudaSuccess;
  Call call;
  if (const auto wrong = unsafe_in_captures(*call, "cudaFree")) return answered(wrong);
  // The real call waits for the device: memory in use is never pulled from under a kernel.
  const int device = call->device_of(address_of(pointer));
  if (device >= 0) call->timeline.wait_until(call->timeline.device_done_ns(device));
  return answered(release_device(call, pointer));
}

SIM_API cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) {
  SIM_RUNTIME_CALL(cudaMallocAsync_v11020);
  return answered(allocate_on(current_device(), bytes, pointer));
}

SIM_API cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) {
  SIM_RUNTIME_CALL(cudaFreeAsync_v11020);
  if (pointer == nullptr) return cudaSuccess;
  Call call;
  return answered(release_device(call, pointer));
}

SIM_API cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  SIM_RUNTIME_CALL(cudaMemGetInfo_v3020);
  Call call;
  const DeviceMemory& memory = call->memory(current_device());
  *total_bytes = memory.limit_bytes();
  *free_bytes = memory.limit_bytes() - memory.used_bytes();
  return cudaSuccess;
}

SIM_API cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  SIM_RUNTIME_CALL(cudaHostAlloc_v3020);
  Call call;
  call->counts.host_allocations += 1;
  return answered(call->host_memory.allocate(bytes, pointer));
}

SIM_API cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  SIM_RUNTIME_CALL(cudaMallocHost_v3020);
  return cudaHostAlloc(pointer, bytes, 0);
}

SIM_API cudaError_t cudaFreeHost(void* pointer) {
  SIM_RUNTIME_CALL(cudaFreeHost_v3020);
  if (pointer == nullptr) return cudaSuccess;
  Call call;
  return answered(call->host_memory.release(pointer));
}

SIM_API cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  SIM_RUNTIME_CALL(cudaHostRegister_v4000);
  Call call;
  return answered(call->host_memory.add(pointer, bytes));
}

SIM_API cudaError_t cudaHostUnregister(void* pointer) {
  SIM_RUNTIME_CALL(cudaHostUnregister_v4000);
  Call call;
  return answered(call->host_memory.remove(pointer));
}

SIM_API cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* pointer, unsigned) {
  Call call;
  if (!call->host_memory.contains(address_of(pointer))) return answered(cudaErrorInvalidValue);
  *device_pointer = pointer;
  return cudaSuccess;
}

SIM_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* into, const void* pointer) {
  Call call;
  std::memset(into, 0, sizeof *into);
  const int device = call->device_of(address_of(pointer));
  if (device >= 0) {
    into->type = cudaMemoryTypeDevice;
    into->device = device;
    into->devicePointer = const_cast<void*>(pointer);
  } else if (call->host_memory.contains(address_of(pointer))) {
    into->type = cudaMemoryTypeHost;
    into->device = current_device();
    into->devicePointer = into->hostPointer = const_cast<void*>(pointer);
  } else {
    into->type = cudaMemoryTypeUnregistered;
    into->device = cudaInvalidDeviceId;
    into->hostPointer = const_cast<void*>(pointer);
  }
  return cudaSuccess;
}
