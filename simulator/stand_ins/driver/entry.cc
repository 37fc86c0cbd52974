// libcudart and libcuda stand-ins: finding driver functions by name. What is exported here is found, nothing
// else is.
#include <dlfcn.h>

#include "simulator/device/settings/settings.h"
#include "simulator/stand_ins/api.h"

using namespace stowage::simulator;

namespace {

void* own_library() {
  Dl_info found;
  if (dladdr(reinterpret_cast<void*>(&own_library), &found) == 0) return nullptr;
  return dlopen(found.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

void* driver_function(const char* name) {
  static void* const kLibrary = own_library();
  if (kLibrary == nullptr) return nullptr;
  void* const exact = dlsym(kLibrary, name);
  if (exact != nullptr) return exact;
  const std::string newer = std::string(name) + "_v2";
  return dlsym(kLibrary, newer.c_str());
}

bool find(const char* name, void** function) {
  *function = driver_function(name);
  if (*function == nullptr && settings().verbose) {
    std::fprintf(stderr, "stowage simulator: %s is not simulated\n", name);
  }
  return *function != nullptr;
}

}  // namespace

SIM_API cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                                     unsigned long long,
                                                     cudaDriverEntryPointQueryResult* result) {
  const bool found = find(name, function);
  if (result != nullptr) *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  // Without a result to look at, the error is the only sign.
  return found || result != nullptr ? cudaSuccess : answered(cudaErrorSymbolNotFound);
}

// CUDA 13 dropped the declaration; libraries built for CUDA 12 still import the function.
SIM_API cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                            cudaDriverEntryPointQueryResult* result) {
  return cudaGetDriverEntryPointByVersion(name, function, 12000, flags, result);
}

SIM_API CUresult cuGetProcAddress_v2(const char* name, void** function, int, cuuint64_t,
                                     CUdriverProcAddressQueryResult* result) {
  const bool found = find(name, function);
  if (result != nullptr) *result = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
