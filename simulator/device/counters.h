/* What the simulated device has counted since the process began or since the last reset.
 *
 * Why: "no cudaMalloc in a steady iteration" is a claim that tests must be able to check. Plain C, so that
 * Python reads it through ctypes (`ctypes.CDLL(None).stowage_sim_counters`) and a test calls it directly.
 * Thread safety: any thread, at any time. Invariant: peak_bytes >= used_bytes. Fields are only ever added at
 * the end. */
#ifndef STOWAGE_SIMULATOR_DEVICE_COUNTERS_H_
#define STOWAGE_SIMULATOR_DEVICE_COUNTERS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** All fields are 64-bit and cover all devices together. Bytes are physical bytes; times are virtual. */
struct stowage_sim_counters_t {
  int64_t launches;         /* kernels, matrix products, convolutions */
  int64_t copies;           /* copies and fills */
  int64_t mallocs;          /* cudaMalloc and cudaMallocAsync that succeeded */
  int64_t frees;            /* cudaFree and cudaFreeAsync of device memory */
  int64_t vmm_calls;        /* cuMemAddressReserve/Free, Create, Release, Map, Unmap, SetAccess */
  int64_t synchronizations; /* calls that made the host wait for a stream, an event or a device */
  int64_t out_of_memory;    /* requests refused because the device was full */
  int64_t misuses;          /* calls that broke a rule of the memory API (double map, unknown free, …) */
  int64_t used_bytes;
  int64_t peak_bytes;
  int64_t host_ns;   /* virtual time of the host */
  int64_t device_ns; /* virtual time at which the last stream is done */
  int64_t host_allocations;
  int64_t not_ready; /* event and stream queries answered "not yet" */
};

/** Fills `*into`. Requires: `into` is not null. */
void stowage_sim_counters(struct stowage_sim_counters_t* into);

/** Sets all counts to zero and the peak to what is in use now; times and memory stay. */
void stowage_sim_reset(void);

/** Device memory that is still allocated, mapped or reserved: prints one line each to stderr, returns their
 * number. */
int64_t stowage_sim_report_leaks(void);

/** The last broken rule that this process met, as text ("" when none). Valid until the next one on any
 * thread. */
const char* stowage_sim_last_misuse(void);

/** How many pointers that kernels and libraries were given were looked at (pointers.h), and in how many of
 * the launches there was at least one that could be. */
int64_t stowage_sim_checked_pointers(void);
int64_t stowage_sim_checked_launches(void);

#ifdef __cplusplus
}
#endif
#endif
