// libcudart stand-in: error codes in words, and refusals of what cannot be simulated.
#include <cstdio>
#include <utility>

#include "simulator/stand_ins/api.h"

namespace stowage::simulator {

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

namespace {

struct Named {
  cudaError_t error;
  const char* name;
  const char* text;
};

constexpr Named kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported on the simulated device"},
};

const Named& named(cudaError_t error) {
  static constexpr Named kUnknown{cudaErrorUnknown, "cudaErrorUnknown", "unknown error"};
  for (const Named& known : kErrors) {
    if (known.error == error) return known;
  }
  return kUnknown;
}

}  // namespace
}  // namespace stowage::simulator

using namespace stowage::simulator;

SIM_API cudaError_t cudaGetLastError() { return std::exchange(last_error(), cudaSuccess); }
SIM_API cudaError_t cudaPeekAtLastError() { return last_error(); }
SIM_API const char* cudaGetErrorString(cudaError_t error) { return named(error).text; }
SIM_API const char* cudaGetErrorName(cudaError_t error) { return named(error).name; }

// Another process has its own simulated machine: nothing can be shared with it.
SIM_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) {
  return answered(cudaErrorNotSupported);
}
SIM_API cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) {
  return answered(cudaErrorNotSupported);
}
SIM_API cudaError_t cudaIpcCloseMemHandle(void*) { return answered(cudaErrorNotSupported); }
SIM_API cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) {
  return answered(cudaErrorNotSupported);
}
SIM_API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) {
  return answered(cudaErrorNotSupported);
}

// Called by every generated function that cannot be simulated.
extern "C" int stowage_sim_refuse(const char* name, int status) {
  if (settings().verbose) std::fprintf(stderr, "stowage simulator: %s is not simulated\n", name);
  return status;
}
