// libcuda stand-in: initialisation, devices, primary contexts, error names, modules and launches of run-time
// compiled kernels. A context handle is its device's number, one up.
#include <cstdio>
#include <cstring>

#include "simulator/device/pointers.h"
#include "simulator/device/settings/attributes.h"
#include "simulator/device/time/costs.h"
#include "simulator/stand_ins/api.h"

using namespace stowage::simulator;

namespace {

CUcontext context_of(int device) {
  return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(device + 1));
}

}  // namespace

SIM_API CUresult cuInit(unsigned) { return CUDA_SUCCESS; }

SIM_API CUresult cuDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetCount(int* count) {
  *count = settings().devices;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetName(char* text, int length, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(text, static_cast<std::size_t>(length), "%s", settings().name.c_str());
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = settings().memory_bytes;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  cudaDeviceProp properties;
  describe(device, &properties);
  std::memcpy(uuid, &properties.uuid, sizeof *uuid);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *value = attribute_of(device, attribute);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *active = 1;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = context_of(device);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }

SIM_API CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = context_of(current_device());
  return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxSetCurrent(CUcontext context) {
  const int device = static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1;
  if (context == nullptr) return CUDA_SUCCESS;  // our contexts are always current
  if (!is_device(device)) return CUDA_ERROR_INVALID_CONTEXT;
  current_device() = device;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxGetDevice(CUdevice* device) {
  *device = current_device();
  return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxSynchronize() {
  SIM_DRIVER_CALL(cuCtxSynchronize);
  return static_cast<CUresult>(cudaDeviceSynchronize());
}

SIM_API CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = cudaGetErrorString(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = cudaGetErrorName(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

// Modules: compiled code is taken and never looked at; every function is the same one, which does nothing.
SIM_API CUresult cuModuleLoadData(CUmodule* module, const void*) {
  static int loaded = 0;
  *module = reinterpret_cast<CUmodule>(&loaded);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return cuModuleLoadData(module, image);
}

SIM_API CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }

SIM_API CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char*) {
  *function = reinterpret_cast<CUfunction>(module);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
SIM_API CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }

SIM_API CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int block_size,
                                                             size_t bytes) {
  return static_cast<CUresult>(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, nullptr, block_size, bytes));
}

SIM_API CUresult cuLaunchKernel(CUfunction, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z, unsigned,
                                CUstream stream, void**, void**) {
  SIM_DRIVER_CALL(cuLaunchKernel);
  const std::uint64_t blocks = std::uint64_t{grid_x} * grid_y * grid_z;
  note_unseen("a kernel compiled at run time");
  return launch_on(stream, kernel_cost(blocks * block_x * block_y * block_z),
                   "a kernel compiled at run time");
}
