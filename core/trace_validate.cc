// Trace::validate: every rule of core/trace.h.
#include <string>

#include "core/trace.h"

namespace stowage {
namespace {

/// Some 146 years: sums of two do not wrap.
constexpr std::uint64_t kMaxNs = std::uint64_t{1} << 62u;
constexpr std::uint32_t kAllOpFlags = (kOpNondeterministic << 1u) - 1;

/// The first broken rule of one element, or nothing.
using Complaint = const char*;

Complaint complain_about_size(const Buffer& buffer) {
  if (buffer.rounded.value() == 0) return "its rounded size is 0";
  if (buffer.rounded.value() % kGranule.value() != 0) return "its rounded size is not a multiple of 512";
  if (buffer.rounded < buffer.bytes) return "its rounded size is less than the size that was asked for";
  return nullptr;
}

Complaint complain_about_life(const Buffer& buffer, Tick end) {
  if (buffer.preexisting && buffer.birth != Tick(0))
    return "it was alive before the trace, but its birth is not 0";
  if (!buffer.preexisting && buffer.birth >= end) return "its birth is not before the trace's end";
  if (buffer.free_requested != kNever && buffer.free_requested > end)
    return "its free is requested after the end";
  if (buffer.free_requested < buffer.birth) return "its free is requested before its birth";
  if (buffer.death < buffer.free_requested) return "its death is before its free was requested";
  if (buffer.death != kNever && buffer.death >= end) return "its death is not before the trace's end";
  if (buffer.death == buffer.birth && !buffer.preexisting) return "its death is at its birth";
  return nullptr;
}

Complaint complain_about_buffer(const Trace& trace, std::size_t index) {
  const Buffer& buffer = trace.buffers[index];
  if (Complaint size = complain_about_size(buffer)) return size;
  if (Complaint life = complain_about_life(buffer, trace.end)) return life;
  if (buffer.stream.value() >= kMaxOrdinal) return "its stream is out of range";
  if (buffer.thread >= kMaxOrdinal) return "its thread is out of range";
  if (buffer.op != kNoOp && buffer.op.value() >= trace.ops.size()) return "its op is not in the trace";
  if (index == 0) return nullptr;
  const Buffer& before = trace.buffers[index - 1];
  if (buffer.birth < before.birth) return "it is born before its predecessor";
  if (buffer.birth == before.birth && !buffer.preexisting && !before.preexisting) {
    return "it is born at the same tick as its predecessor";
  }
  return nullptr;
}

Complaint complain_about_op(const Trace& trace, std::size_t index) {
  const Op& op = trace.ops[index];
  if (op.name >= trace.names.size()) return "its name is not in the trace";
  if ((op.flags & ~kAllOpFlags) != 0) return "it has a flag that is not known";
  if (op.thread >= kMaxOrdinal) return "its thread is out of range";
  if (op.stream.value() >= kMaxOrdinal) return "its stream is out of range";
  if (op.parent != kNoOp && op.parent.value() >= index) return "its parent does not begin before it";
  if (op.begin >= trace.end) return "its begin is not before the trace's end";
  if (op.end < op.begin) return "it ends before it begins";
  if (op.end != kNever && op.end >= trace.end) return "its end is not before the trace's end";
  if (index > 0 && op.begin < trace.ops[index - 1].begin) return "it begins before its predecessor";
  if (op.timed_by > kLastTimeSource) return "what timed it is not known";
  if (op.end_ns < op.begin_ns) return "its call ends before it begins";
  const std::uint64_t last = std::uint64_t{op.first_value} + op.input_count + op.output_count;
  if (last > trace.values.size()) return "its values are not in the trace";
  return nullptr;
}

Complaint complain_about_value(const Trace& trace, std::size_t index) {
  const BufferId buffer = trace.values[index].buffer;
  if (buffer != kNoBuffer && buffer.value() >= trace.buffers.size()) return "its buffer is not in the trace";
  return nullptr;
}

Complaint complain_about_mark(const Trace& trace, std::size_t index) {
  const Mark& mark = trace.marks[index];
  if (mark.source > MarkSource::kUser) return "its source is not known";
  if (mark.tick >= trace.end) return "it is not before the trace's end";
  if (index > 0 && mark.tick <= trace.marks[index - 1].tick) return "it is not after its predecessor";
  return nullptr;
}

Complaint complain_about_activity(const Trace& trace, std::size_t index) {
  const Activity& activity = trace.activities[index];
  if (activity.kind > kLastActivityKind) return "its kind is not known";
  if (activity.name >= trace.names.size()) return "its name is not in the trace";
  if (activity.op != kNoOp && activity.op.value() >= trace.ops.size()) return "its op is not in the trace";
  if (activity.duration_ns > kMaxNs || activity.begin_ns > kMaxNs) return "its time is out of range";
  if (index > 0 && activity.begin_ns < trace.activities[index - 1].begin_ns)
    return "it begins before its predecessor";
  return nullptr;
}

Complaint complain_about_phase(const Trace& trace, std::size_t index) {
  const Phase& phase = trace.phases[index];
  if (phase.name >= trace.names.size()) return "its name is not in the trace";
  if (index > 0 && phase.begin_ns < trace.phases[index - 1].begin_ns)
    return "it begins before its predecessor";
  return nullptr;
}

Error invalid(const std::string& what, Complaint complaint) {
  return Error{ErrorCode::kUnplannable,
               "the trace is not valid: " + what + ": " + complaint + "; record it again"};
}

/// Applies `complain` to each of `count` elements; the first complaint is the error.
template <class Complain>
Status check_each(const Trace& trace, std::size_t count, const char* kind, Complain complain) {
  for (std::size_t index = 0; index < count; ++index) {
    if (Complaint complaint = complain(trace, index)) {
      return invalid(std::string(kind) + " " + std::to_string(index), complaint);
    }
  }
  return {};
}

Status check_whole(const Trace& trace) {
  if (trace.info.device.kind > DeviceKind::kCuda) return invalid("device", "its kind is not known");
  if (trace.info.device.index >= kMaxOrdinal) return invalid("device", "its index is out of range");
  if (trace.end == kNever) return invalid("end", "it never comes");
  for (const std::size_t count : {trace.names.size(), trace.buffers.size(), trace.ops.size(),
                                  trace.values.size(), trace.activities.size()}) {
    if (count >= kNoOp.value()) return invalid("sizes", "an index needs more than 32 bits");
  }
  if (!trace.on_device.empty() && trace.on_device.size() != trace.ops.size())
    return invalid("ops", "not each has its row of what the device measured");
  if (trace.steady) {
    const SteadyWindow& steady = *trace.steady;
    const bool ordered =
        steady.previous_begin < steady.begin && steady.begin < steady.end && steady.end <= trace.end;
    if (!ordered) return invalid("steady window", "its ticks are not in order within the trace");
  }
  return {};
}

/// Sums of live bytes must not wrap: the sum of all buffers is at least any of them.
Status check_total(const Trace& trace) {
  Bytes total{0};
  for (const Buffer& buffer : trace.buffers) {
    if (buffer.rounded > kMaxTotal - total)
      return invalid("buffers", "together they hold more than 2^62 bytes");
    total += buffer.rounded;
  }
  return {};
}

}  // namespace

Status Trace::validate() const {
  if (Status status = check_whole(*this); !status) return status;
  if (Status status = check_each(*this, buffers.size(), "buffer", complain_about_buffer); !status)
    return status;
  if (Status status = check_total(*this); !status) return status;
  if (Status status = check_each(*this, ops.size(), "op", complain_about_op); !status) return status;
  if (Status status = check_each(*this, values.size(), "value", complain_about_value); !status) return status;
  if (Status status = check_each(*this, marks.size(), "mark", complain_about_mark); !status) return status;
  if (Status status = check_each(*this, activities.size(), "activity", complain_about_activity); !status)
    return status;
  return check_each(*this, phases.size(), "phase", complain_about_phase);
}

}  // namespace stowage
