// How an exported function is declared and how it answers. Only the stand-ins include this.
//
// The runtime's and the driver's error codes have the same numbers for the same meaning, so the model speaks
// in CUresult and answered() turns it into the runtime's, keeping it as the thread's last error.
#pragma once

#include <cuda_runtime_api.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include "simulator/device/api_scope.h"
#include "simulator/device/copy.h"
#include "simulator/device/machine.h"
#include "simulator/device/memory/misuse.h"

#define SIM_API extern "C" __attribute__((visibility("default")))

// First in a function of the API that a profiler is told of, by the name that CUPTI has for it.
#define SIM_RUNTIME_CALL(call)                                                          \
  const stowage::simulator::ApiScope api_scope(stowage::simulator::ApiDomain::kRuntime, \
                                               CUPTI_RUNTIME_TRACE_CBID_##call, #call)
#define SIM_DRIVER_CALL(call)                                                          \
  const stowage::simulator::ApiScope api_scope(stowage::simulator::ApiDomain::kDriver, \
                                               CUPTI_DRIVER_TRACE_CBID_##call, #call)

namespace stowage::simulator {

/// The calling thread's last error, as cudaGetLastError sees it.
cudaError_t& last_error();

/// Keeps a failure as the last error and returns it as the runtime's code.
inline cudaError_t answered(cudaError_t error) {
  // "Not ready" is an answer, not an error: the real runtime does keep it, and PyTorch clears it.
  if (error != cudaSuccess) last_error() = error;
  return error;
}
inline cudaError_t answered(CUresult result) { return answered(static_cast<cudaError_t>(result)); }

inline bool is_device(int device) { return device >= 0 && device < settings().devices; }

}  // namespace stowage::simulator
