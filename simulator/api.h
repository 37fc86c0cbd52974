// How an exported function is declared and how it answers. Only the stand-ins include this.
//
// The runtime's and the driver's error codes have the same numbers for the same meaning, so the model speaks
// in CUresult and answered() turns it into the runtime's, keeping it as the thread's last error.
#pragma once

#include <cuda_runtime_api.h>

#include "simulator/machine.h"
#include "simulator/misuse.h"

#define SIM_API extern "C" __attribute__((visibility("default")))

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

inline std::uintptr_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
inline bool is_device(int device) { return device >= 0 && device < settings().devices; }

/// Copies between any two addresses: checks the device side of both, keeps the contents of small copies, and
/// puts the cost on the stream. `blocks` makes the host wait. Errors: CUDA_ERROR_ILLEGAL_ADDRESS,
/// CUDA_ERROR_INVALID_HANDLE.
CUresult copy_on(const void* stream, void* to, const void* from, std::uint64_t bytes, bool blocks);
CUresult fill_on(const void* stream, void* to, std::uint32_t value, std::uint64_t bytes, int width,
                 bool blocks);

}  // namespace stowage::simulator
