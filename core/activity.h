// What the device and its runtime did while a job was recorded, below its ops: kernels, copies, API calls,
// waits. Part of a Trace; recorded through CUPTI (tracer/cupti/).
//
// Plain data. Times are nanoseconds since the trace's clock began (Trace::clock_realtime_ns).
#pragma once

#include <cstdint>

#include "core/units.h"

namespace stowage {

/// What measured the time of an op.
enum class TimeSource : std::uint8_t {
  kNone = 0,  ///< nothing: the time is not known
  kHost = 1,  ///< the host's clock around the call; right on the CPU
  kEvents =
      2,  ///< CUDA events on the op's stream around the call, so idle time and other work between them count
  kCupti = 3,  ///< the GPU itself: the time in which at least one of the op's kernels or copies ran
  kModel = 4,  ///< nothing: estimated from the sizes of the op's tensors
};
inline constexpr TimeSource kLastTimeSource = TimeSource::kModel;
/// In one word, such as "cupti".
const char* to_string(TimeSource source);

/// What a device measured of one op beside its time; the ops that it calls are included.
struct OpOnDevice {
  std::uint32_t launches = 0;    ///< kernels
  std::uint64_t copy_ns = 0;     ///< of the op's time, in copies and fills
  std::uint64_t overlap_ns = 0;  ///< of the op's time, while work ran on another stream, too
  std::uint64_t wait_ns = 0;     ///< host time in which the op waited for the device
  friend bool operator==(const OpOnDevice&, const OpOnDevice&) = default;
};

enum class ActivityKind : std::uint8_t {
  kKernel = 0,
  kCopy = 1,
  kFill = 2,
  kCall = 3,      ///< of the runtime's or the driver's API
  kWait = 4,      ///< a call waited for an event, a stream or the device
  kMemory = 5,    ///< an allocation or a free of device memory
  kOverhead = 6,  ///< the recording itself
};
inline constexpr ActivityKind kLastActivityKind = ActivityKind::kOverhead;
/// In one word, such as "kernel".
const char* to_string(ActivityKind kind);

struct Activity {
  ActivityKind kind = ActivityKind::kKernel;
  std::uint32_t name = 0;         ///< index into Trace::names
  OpId op = kNoOp;                ///< the innermost op that caused it; kNoOp: none was recorded
  std::uint32_t stream = 0;       ///< of kernels, copies, fills and waits, as CUPTI numbers streams
  std::uint32_t thread = 0;       ///< of calls, as CUPTI numbers threads
  std::uint32_t correlation = 0;  ///< ties work on the GPU to the call that launched it; 0: none
  std::uint64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;  ///< exact; begin_ns is as exact as the two clocks were compared
  std::uint64_t bytes = 0;        ///< of copies, fills and memory
  friend bool operator==(const Activity&, const Activity&) = default;
};

/// What the recording of activities is missing. With `any()` times may be too low.
struct ActivityLosses {
  std::uint64_t dropped = 0;          ///< records that CUPTI had no room for, by its own count
  std::uint64_t refused_buffers = 0;  ///< requests for a buffer while none was left
  std::uint64_t lost_buffers = 0;     ///< buffers that never came back: another client of CUPTI took them
  std::uint64_t unknown = 0;          ///< places in a buffer behind which nothing could be read
  std::uint64_t unfinished = 0;       ///< GPU work delivered without its end
  std::uint64_t untimed = 0;          ///< GPU work whose begin and end are 0, or the wrong way round
  std::uint64_t uncorrelated = 0;     ///< GPU work without a record of the call that launched it
  std::uint64_t unattributed = 0;     ///< GPU work that was launched outside of all recorded ops
  std::uint64_t missing_work = 0;     ///< launches without GPU work: captured into a graph, or lost
  std::uint64_t beyond_limit = 0;     ///< records beyond the bound on what is kept

  /// Records that should be there are not. Unattributed work and captured launches are no loss.
  [[nodiscard]] bool any() const {
    return dropped + refused_buffers + lost_buffers + unknown + unfinished + untimed + uncorrelated +
               beyond_limit >
           0;
  }
  friend bool operator==(const ActivityLosses&, const ActivityLosses&) = default;
};

/// What a session was doing, from `begin_ns` to the next phase.
struct Phase {
  std::uint32_t name = 0;  ///< index into Trace::names
  std::uint64_t begin_ns = 0;
  friend bool operator==(const Phase&, const Phase&) = default;
};

}  // namespace stowage
