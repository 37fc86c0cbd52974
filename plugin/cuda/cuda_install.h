// Replaces PyTorch's CUDA allocator with Stowage's, and restores it again.
//
// Works before and after CUDA is initialised, since native's data carries native's own deleter. Installing is
// refused, with one error that says why, when torch is of another release than this build's, when the job
// chose cudaMallocAsync or no caching at all, or when an allocator of someone else's is in place. Thread
// safety: any thread; calls exclude each other. Allocation by other threads meanwhile is safe.
#pragma once

#include "core/result.h"
#include "session/settings/settings.h"

namespace stowage::plugin {

class CudaAdaptor;

/// Installs with `settings`. Installing again is fine and changes nothing. Error: kUnsupported.
Status install_cuda(const session::Settings& settings);
/// Stops serving and restores PyTorch's allocator. Arena blocks stay valid and freeable. While any of them,
/// or any upstream block handed out under Stowage's deleter, is alive, the adaptor stays in place and
/// forwards every request unchanged.
void remove_cuda();
/// An adaptor that serves only callers of the C ABI: PyTorch's own allocator slot is not touched.
/// Error: as install_cuda.
Status open_cuda(const session::Settings& settings);

}  // namespace stowage::plugin
