// The library's C interface: what Python (ctypes), the preload shim and tests call. Plain C types only.
//
// Functions that return int give 0 for success; else stowage_last_error() says in one sentence what happened
// and what to do. Returned strings belong to the library and are valid until the calling thread's next
// call. Thread safety: any thread. No exception leaves a function.
#pragma once

#define STOWAGE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/// Takes part in this process: installs the adaptors that the settings name. `overrides`: key=value lines
/// over the environment, may be null. Enabling what is enabled changes nothing.
STOWAGE_API int stowage_enable(const char* overrides);
/// The entry that never fails: does what the environment asks (STOWAGE), with a warning where that is
/// impossible. Only the first call counts.
STOWAGE_API void stowage_autoload(void);
/// The same for a process with the preload shim: there STOWAGE need not be set, and 0 means no.
STOWAGE_API void stowage_autoload_preloaded(void);
/// Puts PyTorch's own allocators back. Live tensors stay valid.
STOWAGE_API int stowage_disable(void);
/// The user marks the end of an iteration; from then on no other mark counts.
STOWAGE_API int stowage_step(void);
/// The report as JSON; keys in docs/report.md.
STOWAGE_API const char* stowage_report(void);
/// A report as text; `json` null: the present one. Null, if it is no report.
STOWAGE_API const char* stowage_report_text(const char* json);
/// Writes the recorded trace of `device` ("cpu", "cuda", "cuda:1"; null: the only one) to a file.
STOWAGE_API int stowage_save_trace(const char* path, const char* device);
/// All settings as JSON, with the values that the environment and `overrides` (may be null) give; null on a
/// bad one.
STOWAGE_API const char* stowage_settings(const char* overrides);
/// Makes stowage_finish() do what the environment asks also in a process that never called stowage_enable():
/// one whose memory comes through PyTorch's pluggable allocator.
STOWAGE_API int stowage_finish_later(void);
/// Writes the report and the trace that the settings ask for, and stops. Runs by itself when the process
/// ends; once. A process that had no tensors writes nothing.
STOWAGE_API void stowage_finish(void);
/// Names this process in what it writes ("rank3", letters and digits; "": by its environment), or, with null,
/// says that it works for another one and writes nothing.
STOWAGE_API void stowage_finish_as(const char* name);
/// Python's guards for tensors that may be evicted: `place` puts them in place (1) or removes them (0) and
/// gives 0 for success; 2: the runtime sees ops by now, and is told what was lent before. A budget waits
/// until this was called.
STOWAGE_API int stowage_guard_with(int (*place)(int));
/// What the guards call; `storage`: address of a c10::StorageImpl. It comes back and stays; with expose, what
/// is computed from it from now on stays too. 2: there is no memory to bring it back.
STOWAGE_API int stowage_pin(void* storage);
STOWAGE_API int stowage_expose(void* storage);
/// As recompute/recompute.h says of these functions; results as above.
STOWAGE_API int stowage_lend(void* storage);
STOWAGE_API int stowage_take_back(void* storage);
STOWAGE_API int stowage_hold(void* storage);
STOWAGE_API int stowage_let_go(void* storage);
STOWAGE_API int stowage_tell_address(void* storage);
STOWAGE_API int stowage_begin_write(void* storage);
STOWAGE_API int stowage_end_write(void* storage);
/// Memory of a c10::StorageImpl from before stowage_enable() counts for the budget from now on.
STOWAGE_API int stowage_count(void* storage);
/// Between these calls the thread runs code that may touch memory unseen.
STOWAGE_API void stowage_enter_opaque(void);
STOWAGE_API void stowage_leave_opaque(void);
/// The calling thread's ops are seen from now on; and whether every other thread that may run ops says so at
/// its start (1), or is to be noticed at its first op (0, as at first), which costs each op about a
/// microsecond.
STOWAGE_API void stowage_join(void);
STOWAGE_API void stowage_expect_joins(int all_join);
/// Bytes that an op on lists of tensors of a device may need at once; 0: there is no limit. `device_type`: 0
/// CPU, 1 CUDA.
STOWAGE_API unsigned long long stowage_part_bytes(int device_type);
/// How many evictions STOWAGE_EVICT has chosen so far, carried out or not.
STOWAGE_API unsigned long long stowage_forced_choices(void);
/// A profiler is about to use CUPTI: recording leaves it alone from now on.
STOWAGE_API void stowage_leave_cupti(void);
STOWAGE_API const char* stowage_version(void);
/// The torch that the library was built for, such as "2.11.0".
STOWAGE_API const char* stowage_torch_version(void);
STOWAGE_API const char* stowage_last_error(void);

#ifdef __cplusplus
}
#endif
