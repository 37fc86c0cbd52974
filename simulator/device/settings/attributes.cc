#include "simulator/device/settings/attributes.h"

#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include "simulator/device/settings/settings.h"

namespace stowage::simulator {
namespace {

constexpr std::pair<int, int> kAttributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, 1024},
    {cudaDevAttrMaxBlockDimX, 1024},
    {cudaDevAttrMaxBlockDimY, 1024},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, 2147483647},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrMaxSharedMemoryPerBlock, 49152},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, 232448},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 233472},
    {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
    {cudaDevAttrTotalConstantMemory, 65536},
    {cudaDevAttrWarpSize, 32},
    {cudaDevAttrMaxRegistersPerBlock, 65536},
    {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
    {cudaDevAttrClockRate, 1980000},
    {cudaDevAttrMemoryClockRate, 2619000},
    {cudaDevAttrGlobalMemoryBusWidth, 6144},
    {cudaDevAttrL2CacheSize, 60 << 20},
    {cudaDevAttrMultiProcessorCount, kMultiprocessors},
    {cudaDevAttrMaxThreadsPerMultiProcessor, kThreadsPerMultiprocessor},
    {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
    {cudaDevAttrComputeCapabilityMajor, kComputeMajor},
    {cudaDevAttrComputeCapabilityMinor, kComputeMinor},
    {cudaDevAttrTextureAlignment, 512},
    {cudaDevAttrAsyncEngineCount, 3},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrStreamPrioritiesSupported, 1},
    {cudaDevAttrMemoryPoolsSupported, 1},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrHostRegisterSupported, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
};

}  // namespace

int attribute_of(int device, int attribute) {
  if (attribute == cudaDevAttrPciBusId) return kPciBus + device;
  for (const auto& [known, value] : kAttributes) {
    if (known == attribute) return value;
  }
  return 0;
}

void describe(int device, cudaDeviceProp* into) {
  std::memset(into, 0, sizeof *into);
  const auto value = [device](int attribute) { return attribute_of(device, attribute); };
  std::snprintf(into->name, sizeof into->name, "%s", settings().name.c_str());
  for (std::size_t at = 0; at < sizeof into->uuid.bytes; ++at) {
    into->uuid.bytes[at] = static_cast<char>(at == 0 ? 0x57 : at == sizeof into->uuid.bytes - 1 ? device : 0);
  }
  into->totalGlobalMem = settings().memory_bytes;
  into->major = kComputeMajor;
  into->minor = kComputeMinor;
  into->multiProcessorCount = kMultiprocessors;
  into->maxThreadsPerMultiProcessor = kThreadsPerMultiprocessor;
  into->maxBlocksPerMultiProcessor = value(cudaDevAttrMaxBlocksPerMultiprocessor);
  into->warpSize = value(cudaDevAttrWarpSize);
  into->maxThreadsPerBlock = value(cudaDevAttrMaxThreadsPerBlock);
  for (int axis = 0; axis < 3; ++axis) {
    into->maxThreadsDim[axis] = value(cudaDevAttrMaxBlockDimX + axis);
    into->maxGridSize[axis] = value(cudaDevAttrMaxGridDimX + axis);
  }
  into->sharedMemPerBlock = static_cast<std::size_t>(value(cudaDevAttrMaxSharedMemoryPerBlock));
  into->sharedMemPerBlockOptin = static_cast<std::size_t>(value(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  into->sharedMemPerMultiprocessor =
      static_cast<std::size_t>(value(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  into->regsPerBlock = value(cudaDevAttrMaxRegistersPerBlock);
  into->regsPerMultiprocessor = value(cudaDevAttrMaxRegistersPerMultiprocessor);
  into->totalConstMem = static_cast<std::size_t>(value(cudaDevAttrTotalConstantMemory));
  into->textureAlignment = static_cast<std::size_t>(value(cudaDevAttrTextureAlignment));
  into->l2CacheSize = value(cudaDevAttrL2CacheSize);
  into->memoryBusWidth = value(cudaDevAttrGlobalMemoryBusWidth);
  into->asyncEngineCount = value(cudaDevAttrAsyncEngineCount);
  into->pciBusID = kPciBus + device;
  into->concurrentKernels = into->unifiedAddressing = into->canMapHostMemory = into->cooperativeLaunch = 1;
  into->streamPrioritiesSupported = into->memoryPoolsSupported = 1;
}

}  // namespace stowage::simulator
