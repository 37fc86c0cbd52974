// Copies and fills, as streams of the runtime and of the driver ask for them.
//
// Thread safety: any thread.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace stowage::simulator {

/// Copies between any two addresses: checks the device side of both, keeps the contents of small copies, and
/// puts the cost on the stream. `blocks` makes the host wait. Errors: CUDA_ERROR_ILLEGAL_ADDRESS,
/// CUDA_ERROR_INVALID_HANDLE.
CUresult copy_on(const void* stream, void* to, const void* from, std::uint64_t bytes, bool blocks);
CUresult fill_on(const void* stream, void* to, std::uint32_t value, std::uint64_t bytes, int width,
                 bool blocks);

}  // namespace stowage::simulator
