/* Registering buffers of other code as evictable: the C interface. C++ code may use
 * recompute/choice/foreign_buffers.h.
 *
 * A buffer's owner says how large it is, what bringing it back costs, and gives two functions. While a budget
 * is short Stowage may call `evict` on any buffer that is not in use; the owner brackets each use with
 * stowage_evictable_use and stowage_evictable_done.
 *
 * Thread safety: every function, from any thread. The callbacks run in whichever thread allocates or uses,
 * under Stowage's lock: they must not run torch ops, must not allocate from the device's PyTorch allocator in
 * `evict`, must not take a lock that is held while calling any function here, and must not call functions
 * here.
 */
#pragma once

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
extern "C" {
#else
#include <stddef.h>
#include <stdint.h>
#endif

#define STOWAGE_EVICTABLE_API __attribute__((visibility("default")))

typedef struct stowage_evictable {
  size_t bytes;                  /* freed by evict, taken by restore */
  int device_type;               /* c10::DeviceType as a number: 0 CPU, 1 CUDA */
  uint64_t restore_ns;           /* what bringing it back takes, about */
  void* context;                 /* handed to the callbacks */
  int (*evict)(void* context);   /* gives the bytes back to the allocator; nonzero if it did */
  int (*restore)(void* context); /* takes the bytes and fills them; nonzero if it did */
  int device_index;              /* which of that type; the CPU has no other than 0 */
} stowage_evictable;

/* Registers a buffer that is resident now. Its id, or -1 if a callback is missing or bytes is 0. */
STOWAGE_EVICTABLE_API int64_t stowage_evictable_add(const stowage_evictable* buffer);
/* Brings it back if it is away, and keeps it until as many calls of stowage_evictable_done. Nonzero if it is
 * there; 0 for an unknown id or if `restore` failed: then it is not in use. */
STOWAGE_EVICTABLE_API int stowage_evictable_use(int64_t id);
STOWAGE_EVICTABLE_API void stowage_evictable_done(int64_t id);
/* Forgets it, resident or not; no callback is called. Requires: not in use. Unknown ids are ignored. */
STOWAGE_EVICTABLE_API void stowage_evictable_remove(int64_t id);

#ifdef __cplusplus
}
#endif
