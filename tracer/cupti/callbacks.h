// The two callbacks by which CUPTI asks for buffers and returns them.
//
// CUPTI keeps the callbacks that were registered last for as long as the process lives, so they are functions
// of the process, which pass on to the pool that is served at the moment. Without one they decline.
//
// Thread safety: from any thread. CUPTI calls them from threads of the job, inside CUDA calls.
#pragma once

#include <memory>

#include "core/result.h"
#include "tracer/cupti/buffers.h"
#include "tracer/cupti/records/library.h"

namespace stowage::tracer::cupti {

/// From now on CUPTI's buffers come from `pool`. Error: kUnsupported if CUPTI refuses, or if its version is
/// unknown.
Status serve_buffers(const Library& library, std::shared_ptr<BufferPool> pool);

/// `pool` serves no longer.
void serve_no_buffers(const std::shared_ptr<BufferPool>& pool);

}  // namespace stowage::tracer::cupti
