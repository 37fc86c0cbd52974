// libcudart stand-in: memory pools of the stream-ordered allocator. A pool keeps nothing back: what it
// reserves is what is in use on its device, so trimming has nothing to do.
#include "simulator/stand_ins/api.h"

using namespace stowage::simulator;

namespace {

// A pool handle is its device's number, one up, so that it is never null.
cudaMemPool_t pool_of(int device) {
  return reinterpret_cast<cudaMemPool_t>(static_cast<std::uintptr_t>(device + 1));
}
int device_of_pool(cudaMemPool_t pool) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(pool)) - 1;
}

}  // namespace

SIM_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (!is_device(device)) return answered(cudaErrorInvalidDevice);
  *pool = pool_of(device);
  return cudaSuccess;
}

SIM_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return cudaDeviceGetDefaultMemPool(pool, device);
}

SIM_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (!is_device(device_of_pool(pool))) return answered(cudaErrorInvalidValue);
  Call call;
  const DeviceMemory& memory = call->memory(device_of_pool(pool));
  switch (attribute) {
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrUsedMemCurrent:
      *static_cast<std::uint64_t*>(value) = memory.used_bytes();
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
      *static_cast<std::uint64_t*>(value) = memory.peak_bytes();
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
      *static_cast<std::uint64_t*>(value) = 0;
      return cudaSuccess;
    default:
      *static_cast<int*>(value) = 1;
      return cudaSuccess;
  }
}

SIM_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void*) {
  if (!is_device(device_of_pool(pool))) return answered(cudaErrorInvalidValue);
  Call call;
  const bool resets = attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh;
  if (resets) call->memory(device_of_pool(pool)).reset_peak();
  return cudaSuccess;
}

SIM_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc*, size_t) {
  return is_device(device_of_pool(pool)) ? cudaSuccess : answered(cudaErrorInvalidValue);
}

SIM_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return is_device(device_of_pool(pool)) ? cudaSuccess : answered(cudaErrorInvalidValue);
}
