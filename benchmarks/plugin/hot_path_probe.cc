// What hot_path.py loads: replays one recorded iteration against a CUDA allocator of this process and
// takes the time. Calls go where a tensor's would: CUDAAllocator::allocate and the release of its DataPtr.
//
// Plain C functions for ctypes. Thread safety: none; one thread calls. No exception is caught: a failure ends
// the run.
#include <c10/cuda/CUDACachingAllocator.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;

/// One iteration: a value >= 0 allocates so many bytes, another one frees the block that was allocated as
/// number -value - 1 of the iteration.
struct Iteration {
  std::vector<std::int64_t> events;
  std::vector<c10::DataPtr> blocks;  ///< by number; empty between iterations
};

Iteration iteration;
CUDAAllocator* native = nullptr;

/// Processor time of this thread: what others do on the machine does not count.
double thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void replay(CUDAAllocator& allocator) {
  std::size_t next = 0;
  for (const std::int64_t event : iteration.events) {
    if (event >= 0) {
      iteration.blocks[next++] = allocator.allocate(static_cast<std::size_t>(event));
    } else {
      iteration.blocks[static_cast<std::size_t>(-event - 1)].clear();
    }
  }
}

}  // namespace

extern "C" {

/// Remembers the allocator that is installed now. Call it before Stowage is enabled.
[[gnu::visibility("default")]] void probe_remember_native() {
  native = c10::cuda::CUDACachingAllocator::get();
}

/// Requires: frees name blocks that are allocated before them, each once, and every block is freed.
[[gnu::visibility("default")]] void probe_set_events(const std::int64_t* events, std::size_t count) {
  iteration.events.assign(events, events + count);
  iteration.blocks.clear();
  iteration.blocks.resize(count / 2);
}

/// Replays `repeats` iterations, with a call of `mark` (null: none) after each, against the installed
/// allocator or, if `on_native`, the remembered one. Returns the nanoseconds of
/// processor time that this took.
[[gnu::visibility("default")]] double probe_run(int on_native, int repeats, int (*mark)()) {
  CUDAAllocator& allocator = on_native != 0 ? *native : *c10::cuda::CUDACachingAllocator::get();
  const double start = thread_ns();
  for (int i = 0; i < repeats; ++i) {
    replay(allocator);
    if (mark != nullptr) mark();
  }
  return thread_ns() - start;
}

}  // extern "C"
