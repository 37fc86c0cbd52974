// What a running job did: its allocations, its ops and where its iterations begin. One of the two nouns of
// Stowage.
//
// A trace is of one device. Time is counted in ticks: every event (allocation, completed free, op begin, op
// end, mark) takes the next one. Vectors are indexed by BufferId and OpId. Plain data: no locks, no
// invariants beyond validate().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/activity.h"
#include "core/device.h"
#include "core/result.h"
#include "core/units.h"

namespace stowage {

/// Where the trace comes from. Streams are stored as ordinals; their handles mean nothing in another process.
struct TraceInfo {
  Device device;
  std::string device_name;
  std::string torch_version;
  std::string job;         ///< command line or name given by the user; for people, not compared
  Bytes device_memory{0};  ///< total bytes of the device; 0 when not known
  friend bool operator==(const TraceInfo&, const TraceInfo&) = default;
};

/// One allocation. A buffer that was alive before the trace began has birth 0 and `preexisting`.
struct Buffer {
  Bytes bytes{0};            ///< as requested
  Bytes rounded{0};          ///< as reserved: a multiple of kGranule
  StreamId stream{0};        ///< the stream it was allocated on
  std::uint32_t thread = 0;  ///< ordinal of the allocating thread
  OpId op = kNoOp;           ///< innermost ATen op it was allocated in
  Tick birth{0};
  Tick free_requested = kNever;  ///< the owner freed it
  Tick death =
      kNever;  ///< the free is complete: every recorded stream has passed it. Never before free_requested
  bool preexisting = false;
  bool cross_stream = false;  ///< record_stream was called on it: death depends on the device's progress
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

/// One state of a buffer's contents: each in-place write makes the next version.
struct Value {
  BufferId buffer = kNoBuffer;
  std::uint32_t version = 0;
  friend bool operator==(const Value&, const Value&) = default;
};

/// Properties of an op, as bits of Op::flags.
enum OpFlag : std::uint32_t {
  kOpInPlace = 1u << 0,    ///< writes to one of its inputs
  kOpView = 1u << 1,       ///< an output shares an input's storage
  kOpRandom = 1u << 2,     ///< draws random numbers
  kOpBackward = 1u << 3,   ///< ran under an autograd node
  kOpComposite = 1u << 4,  ///< calls other ops, which are recorded too
  kOpNondeterministic = 1u << 5,
};

/// One ATen operator call. Its values are `Trace::values[first_value ...]`: inputs, then outputs.
struct Op {
  std::uint32_t name = 0;   ///< index into Trace::names
  std::uint32_t flags = 0;  ///< OpFlag bits
  std::uint32_t thread = 0;
  StreamId stream{0};
  OpId parent = kNoOp;  ///< the enclosing op
  Tick begin{0};
  Tick end = kNever;
  std::uint64_t duration_ns = 0;  ///< host time on CPU, device time on CUDA; 0 if it is not known (timed_by
                                  ///< is kNone) or if the op does nothing on the device
  TimeSource timed_by = TimeSource::kNone;  ///< what measured duration_ns
  std::uint64_t begin_ns = 0;  ///< when its call began and ended, by the trace's clock; 0, 0: not known
  std::uint64_t end_ns = 0;
  Bytes workspace{0};  ///< peak bytes allocated inside that did not outlive it
  std::uint32_t first_value = 0;
  std::uint32_t input_count = 0;
  std::uint32_t output_count = 0;
  friend bool operator==(const Op&, const Op&) = default;
};

/// What marked the end of an iteration.
enum class MarkSource : std::uint8_t { kOptimizer = 0, kPeriod = 1, kUser = 2 };

/// The end of an optimizer step, a detected period or a call of stowage.step().
struct Mark {
  Tick tick{0};
  MarkSource source = MarkSource::kOptimizer;
  std::uint64_t at_ns = 0;  ///< by the trace's clock; 0: not known
  friend bool operator==(const Mark&, const Mark&) = default;
};

/// A request of an iteration that has ended.
struct RequestLife {
  Bytes rounded{0};
  StreamId stream{0};
  bool lasted = false;          ///< it was not freed within its iteration
  std::uint32_t meanwhile = 0;  ///< later requests of its iteration that came before it was freed
  friend bool operator==(const RequestLife&, const RequestLife&) = default;
};

/// Two adjoining windows of equal length in marks that made the same allocations: the job's steady state.
/// Ticks are half-open: previous is [previous_begin, begin), steady is [begin, end).
struct SteadyWindow {
  Tick previous_begin{0};
  Tick begin{0};
  Tick end{0};
  friend bool operator==(const SteadyWindow&, const SteadyWindow&) = default;
};

struct Trace {
  TraceInfo info;
  std::vector<std::string> names;
  std::vector<Buffer> buffers;  ///< in order of birth
  std::vector<Op> ops;          ///< in order of begin
  std::vector<Value> values;
  std::vector<Mark> marks;             ///< in order of tick
  std::optional<SteadyWindow> steady;  ///< set by the tracer once two windows agree
  Tick end{0};                         ///< one past the last event
  std::uint64_t dropped = 0;  ///< events lost to the memory bound; such a trace is never planned from
  std::uint64_t clock_realtime_ns = 0;  ///< CLOCK_REALTIME when the trace's clock began; 0: not known
  std::vector<OpOnDevice> on_device;    ///< by op; empty where nothing measured it
  std::vector<Activity> activities;     ///< in order of begin; empty where none were recorded
  ActivityLosses losses;                ///< of the activities
  std::vector<Phase> phases;            ///< in order of begin
  /// It holds every allocation of the job up to `end`, so that other allocators can be modelled on it.
  bool from_first_allocation = false;

  /// Checks every index, order and bound above, and that sizes sum up to at most kMaxTotal. A trace from a
  /// file is used only after this. Error: kUnplannable, naming the first element that breaks a rule.
  /// O(elements).
  [[nodiscard]] Status validate() const;
  friend bool operator==(const Trace&, const Trace&) = default;
};

/// Order-dependent 64-bit hash of the allocations born in [begin, end): (rounded, stream) each. The same job
/// makes the same fingerprint in every process; a plan belongs to one fingerprint. Buffers that were alive
/// before the trace do not count. Requires: the trace is valid.
std::uint64_t fingerprint(const Trace& trace, Tick begin, Tick end);

/// The same, one allocation after the other.
class Fingerprint {
 public:
  void add(Bytes rounded, StreamId stream);
  [[nodiscard]] std::uint64_t value() const;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;

 private:
  std::uint64_t hash_ = 0;
  std::uint64_t count_ = 0;
};

/// Max over ticks of [begin, end) of the rounded live bytes of all buffers, those that were alive before
/// included. Requires: the trace is valid.
Bytes peak_live(const Trace& trace, Tick begin, Tick end);

}  // namespace stowage
