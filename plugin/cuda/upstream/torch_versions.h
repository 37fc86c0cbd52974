// Everything that differs between the torch releases the adaptor is built against (2.11 to 2.15), in one
// place.
//
// CUDAAllocator gains virtuals in nearly every release and their order in the vtable shifts, so a build
// serves exactly one minor release; check_torch_version refuses any other before an object of ours is handed
// out.
#pragma once

#include <torch/headeronly/version.h>
#include <array>

#include <cstddef>
#include <string_view>

#include "core/result.h"

#define STOWAGE_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

#if !STOWAGE_TORCH_AT_LEAST(2, 11)
#error "Stowage needs torch 2.11 or newer: install one and build again"
#endif

/// 2.12: attachOomRejectionObserver (pure), getContextForPointer.
#define STOWAGE_TORCH_OOM_REJECTION STOWAGE_TORCH_AT_LEAST(2, 12)
/// 2.13: markCaptureBegin/End and allocateWithAddress.
#define STOWAGE_TORCH_CAPTURE_MARKS STOWAGE_TORCH_AT_LEAST(2, 13)
#define STOWAGE_TORCH_ALLOCATE_AT STOWAGE_TORCH_AT_LEAST(2, 13)
/// 2.14: supportsUserMetadata and annotateMemory.
#define STOWAGE_TORCH_ANNOTATIONS STOWAGE_TORCH_AT_LEAST(2, 14)

namespace stowage::plugin {

/// "major.minor.patch" of the torch that this library was built for.
const char* built_torch_version();
/// Bytes of the workspaces that PyTorch takes for cuBLAS and cuBLASLt; 0 where it does not tell.
const std::array<std::size_t, 2>& blas_workspace_sizes();
/// True if PyTorch keeps them: newer releases free them after each op, like any other scratch memory.
bool blas_workspaces_are_kept();
/// Refuses a torch of another minor release. `running` is torch.__version__, such as "2.11.0+cu130".
/// Error: kUnsupported, naming both versions and the fix.
Status check_torch_version(std::string_view running);
/// The same for the torch that is loaded in this process.
Status check_loaded_torch();
/// True if PyTorch keeps workspaces of `bytes` for cuBLAS or cuBLASLt, and the code at `caller` belongs to
/// libtorch_cuda, which allocates them itself. A tensor may have that size too, but libtorch_cpu allocates
/// tensors.
bool is_blas_workspace(std::size_t bytes, const void* caller);

}  // namespace stowage::plugin
