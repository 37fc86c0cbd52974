/* The C ABI of Stowage's CUDA allocator, for torch.cuda.memory.change_current_allocator and for any other
 * caller.
 *
 * Served by the same adaptor, session and plan as the full allocator; upstream is PyTorch's native allocator.
 * Settings come from the environment (STOWAGE_*). If Stowage cannot serve, one warning is printed and
 * upstream does.
 *
 * Out of memory. torch's CUDAPluggableAllocator keeps a null pointer unchecked and fails later in a kernel.
 * So there are two doors: stowage_alloc never throws and returns NULL, with one line on stderr, as C callers
 * expect; stowage_torch_alloc is for torch only and throws c10::OutOfMemoryError, which reaches Python as
 * torch.OutOfMemoryError. stowage.pluggable_allocator() uses the latter.
 *
 * Thread safety: every function, from any thread. Nothing but stowage_torch_alloc throws.
 */
#pragma once

#include <cuda_runtime_api.h>
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <utility>

#define STOWAGE_EXPORT __attribute__((visibility("default")))

extern "C" {

/* `bytes` of device memory in `stream`'s order, at least 512-byte aligned; NULL if bytes is 0 or there is no
 * memory. */
STOWAGE_EXPORT void* stowage_alloc(ssize_t bytes, int device, cudaStream_t stream);
/* The same, but throws c10::OutOfMemoryError. */
STOWAGE_EXPORT void* stowage_torch_alloc(ssize_t bytes, int device, cudaStream_t stream);
/* Frees what either returned. Size, device and stream are known to Stowage and ignored. */
STOWAGE_EXPORT void stowage_free(void* address, ssize_t bytes, int device, cudaStream_t stream);

/* The hooks of CUDAPluggableAllocator, by the setter they are for. */

/* set_init_fn */
STOWAGE_EXPORT void stowage_init(int device_count);
/* set_reset_fn: empties upstream's cache. */
STOWAGE_EXPORT void stowage_reset(void);
/* set_memory_fraction_fn */
STOWAGE_EXPORT void stowage_memory_fraction(double fraction, int device);
/* set_base_alloc_fn: the base of the segment that holds `address`, its size in `*bytes`. */
STOWAGE_EXPORT void* stowage_base_alloc(void* address, std::size_t* bytes);
/* set_record_stream_fn */
STOWAGE_EXPORT void stowage_record_stream(void* address, cudaStream_t stream);
/* set_begin_allocate_to_pool; C++ types as torch has them. */
STOWAGE_EXPORT void stowage_begin_allocate_to_pool(int device,
                                                   std::pair<unsigned long long, unsigned long long> pool,
                                                   std::function<bool(cudaStream_t)> filter);
/* set_end_allocate_to_pool_fn */
STOWAGE_EXPORT void stowage_end_allocate_to_pool(int device,
                                                 std::pair<unsigned long long, unsigned long long> pool);
/* set_release_pool */
STOWAGE_EXPORT void stowage_release_pool(int device, std::pair<unsigned long long, unsigned long long> pool);

/* NULL if this library serves torch `running` (torch.__version__), else why not. The text lives until the
 * thread's next call. */
STOWAGE_EXPORT const char* stowage_check_torch(const char* running);

}  // extern "C"
