// Where upstream could serve a request from memory that it has: the segments of the request's own pool and
// stream, and the blocks of them that are free.
//
// Why: upstream takes no more from the device than the budget leaves, so what it can give is one of its
// blocks. Freeing neighbours makes one that is large enough for less than freeing the cheapest blocks does.
//
// Thread safety: any thread; takes upstream's lock.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include "core/free_space.h"
#include "core/units.h"

namespace stowage::plugin {

/// For a request of `bytes` on `stream`. Walks over all of upstream's blocks: for when it refused one.
FreeSpace upstream_space(c10::cuda::CUDACachingAllocator::CUDAAllocator& upstream, c10::DeviceIndex device,
                         cudaStream_t stream, Bytes bytes);

/// What blocks hold that are in use and as large as cuBLAS's workspaces are, tensors of just that size among
/// them. Walks over all of upstream's blocks: for an error.
Bytes upstream_workspaces(c10::cuda::CUDACachingAllocator::CUDAAllocator& upstream, c10::DeviceIndex device);

}  // namespace stowage::plugin
