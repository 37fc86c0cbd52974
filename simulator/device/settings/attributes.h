// What the simulated devices claim to be: an sm_90 data-centre GPU. Thread safety: pure functions.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace stowage::simulator {

inline constexpr int kMultiprocessors = 132;
inline constexpr int kThreadsPerMultiprocessor = 2048;
inline constexpr int kComputeMajor = 9;
inline constexpr int kComputeMinor = 0;
inline constexpr int kDriverVersion = 13000;
inline constexpr int kPciBus = 1;  // of device 0; the others follow

/// A device attribute; the runtime's and the driver's numbers agree. Unknown ones are 0.
int attribute_of(int device, int attribute);

/// Fills all of `*into` from the attributes.
void describe(int device, cudaDeviceProp* into);

}  // namespace stowage::simulator
