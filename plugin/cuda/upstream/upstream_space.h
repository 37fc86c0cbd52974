// Where upstream could serve a request from memory that it holds: the segments of the request's own pool and
// stream, and their free blocks.
//
// Why: the budget may leave upstream no new device memory, so only its own blocks can serve a request.
// Freeing neighbours to make one large enough costs less than freeing the cheapest tensors anywhere.
//
// Thread safety: any thread; takes upstream's lock.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include "core/runtime/free_space.h"
#include "core/units.h"

namespace stowage::plugin {

/// For a request of `bytes` on `stream` that upstream refused. Slow: walks all of upstream's blocks.
FreeSpace upstream_space(c10::cuda::CUDACachingAllocator::CUDAAllocator& upstream, c10::DeviceIndex device,
                         cudaStream_t stream, Bytes bytes);

/// Bytes of blocks in use that have the size of cuBLAS's workspaces; may include tensors of just that size.
/// Slow, only for error messages: walks all of upstream's blocks.
Bytes upstream_workspaces(c10::cuda::CUDACachingAllocator::CUDAAllocator& upstream, c10::DeviceIndex device);

}  // namespace stowage::plugin
