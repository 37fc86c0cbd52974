// libcudart stand-in: what nvcc's generated start-up code calls in every library with kernels, and device
// variables.
#include <cstring>

#include "simulator/device/kernels/kernels.h"
#include "simulator/stand_ins/api.h"

using namespace stowage::simulator;

SIM_API void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
SIM_API void __cudaRegisterFatBinaryEnd(void**) {}
SIM_API void __cudaUnregisterFatBinary(void**) {}
SIM_API char __cudaInitModule(void**) { return 1; }

SIM_API void __cudaRegisterFunction(void**, const char* host_function, char*, const char* name, int, void*,
                                    void*, void*, void*, int*) {
  register_kernel(host_function, name);
}

SIM_API void __cudaRegisterVar(void**, char* host_variable, char*, const char*, int, size_t bytes, int, int) {
  register_variable(host_variable, bytes);
}

SIM_API cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  std::uint64_t bytes = 0;
  *pointer = variable_storage(symbol, &bytes);
  return *pointer == nullptr ? answered(cudaErrorInvalidSymbol) : cudaSuccess;
}

SIM_API cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  std::uint64_t found = 0;
  if (variable_storage(symbol, &found) == nullptr) return answered(cudaErrorInvalidSymbol);
  *bytes = found;
  return cudaSuccess;
}

SIM_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                                       cudaMemcpyKind) {
  std::uint64_t size = 0;
  void* const storage = variable_storage(symbol, &size);
  if (storage == nullptr) return answered(cudaErrorInvalidSymbol);
  if (offset > size || bytes > size - offset) return answered(cudaErrorInvalidValue);
  return answered(copy_on(nullptr, static_cast<char*>(storage) + offset, from, bytes, true));
}
