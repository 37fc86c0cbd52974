#include "core/format/trace_writer.h"

#include <string>

#include "core/format/columns.h"
#include "core/format/trace_generated.h"

namespace stowage::format {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;

/// Bytes of one row of each table, all columns together; and an allowance for the rest.
constexpr std::uint64_t kBufferRow = 5 * 8 + 3 * 4 + 1;
constexpr std::uint64_t kOpRow = 6 * 8 + 8 * 4 + 1;
constexpr std::uint64_t kValueRow = 2 * 4;
constexpr std::uint64_t kMarkRow = 2 * 8 + 1;
constexpr std::uint64_t kOnDeviceRow = 3 * 8 + 4;
constexpr std::uint64_t kActivityRow = 3 * 8 + 5 * 4 + 1;
constexpr std::uint64_t kPhaseRow = 8 + 4;
constexpr std::uint64_t kTableBytes = 4096;

std::uint8_t flags_of(const Buffer& buffer) {
  return static_cast<std::uint8_t>((buffer.preexisting ? kPreexistingBit : 0) |
                                   (buffer.cross_stream ? kCrossStreamBit : 0));
}

auto write_buffers(Builder& builder, const std::vector<Buffer>& rows) {
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  const auto bytes = write_column<u64>(builder, rows, [](const Buffer& b) { return b.bytes.value(); });
  const auto rounded = write_column<u64>(builder, rows, [](const Buffer& b) { return b.rounded.value(); });
  const auto stream = write_column<u32>(builder, rows, [](const Buffer& b) { return b.stream.value(); });
  const auto thread = write_column<u32>(builder, rows, [](const Buffer& b) { return b.thread; });
  const auto op = write_column<u32>(builder, rows, [](const Buffer& b) { return b.op.value(); });
  const auto birth = write_column<u64>(builder, rows, [](const Buffer& b) { return b.birth.value(); });
  const auto freed =
      write_column<u64>(builder, rows, [](const Buffer& b) { return b.free_requested.value(); });
  const auto death = write_column<u64>(builder, rows, [](const Buffer& b) { return b.death.value(); });
  const auto flags = write_column<std::uint8_t>(builder, rows, flags_of);
  return CreateBufferColumns(builder, bytes, rounded, stream, thread, op, birth, freed, death, flags);
}

auto write_ops(Builder& builder, const std::vector<Op>& rows) {
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  const auto name = write_column<u32>(builder, rows, [](const Op& o) { return o.name; });
  const auto flags = write_column<u32>(builder, rows, [](const Op& o) { return o.flags; });
  const auto thread = write_column<u32>(builder, rows, [](const Op& o) { return o.thread; });
  const auto stream = write_column<u32>(builder, rows, [](const Op& o) { return o.stream.value(); });
  const auto parent = write_column<u32>(builder, rows, [](const Op& o) { return o.parent.value(); });
  const auto begin = write_column<u64>(builder, rows, [](const Op& o) { return o.begin.value(); });
  const auto end = write_column<u64>(builder, rows, [](const Op& o) { return o.end.value(); });
  const auto duration = write_column<u64>(builder, rows, [](const Op& o) { return o.duration_ns; });
  const auto workspace = write_column<u64>(builder, rows, [](const Op& o) { return o.workspace.value(); });
  const auto first = write_column<u32>(builder, rows, [](const Op& o) { return o.first_value; });
  const auto inputs = write_column<u32>(builder, rows, [](const Op& o) { return o.input_count; });
  const auto outputs = write_column<u32>(builder, rows, [](const Op& o) { return o.output_count; });
  const auto timed_by = write_column<std::uint8_t>(
      builder, rows, [](const Op& o) { return static_cast<std::uint8_t>(o.timed_by); });
  const auto begin_ns = write_column<u64>(builder, rows, [](const Op& o) { return o.begin_ns; });
  const auto end_ns = write_column<u64>(builder, rows, [](const Op& o) { return o.end_ns; });
  return CreateOpColumns(builder, name, flags, thread, stream, parent, begin, end, duration, workspace, first,
                         inputs, outputs, timed_by, begin_ns, end_ns);
}

auto write_values(Builder& builder, const std::vector<Value>& rows) {
  const auto buffer =
      write_column<std::uint32_t>(builder, rows, [](const Value& v) { return v.buffer.value(); });
  const auto version = write_column<std::uint32_t>(builder, rows, [](const Value& v) { return v.version; });
  return CreateValueColumns(builder, buffer, version);
}

auto write_marks(Builder& builder, const std::vector<Mark>& rows) {
  const auto tick = write_column<std::uint64_t>(builder, rows, [](const Mark& m) { return m.tick.value(); });
  const auto source = write_column<std::uint8_t>(
      builder, rows, [](const Mark& m) { return static_cast<std::uint8_t>(m.source); });
  const auto at = write_column<std::uint64_t>(builder, rows, [](const Mark& m) { return m.at_ns; });
  return CreateMarkColumns(builder, tick, source, at);
}

auto write_on_device(Builder& builder, const std::vector<OpOnDevice>& rows) {
  using u64 = std::uint64_t;
  const auto launches =
      write_column<std::uint32_t>(builder, rows, [](const OpOnDevice& o) { return o.launches; });
  const auto copy = write_column<u64>(builder, rows, [](const OpOnDevice& o) { return o.copy_ns; });
  const auto overlap = write_column<u64>(builder, rows, [](const OpOnDevice& o) { return o.overlap_ns; });
  const auto wait = write_column<u64>(builder, rows, [](const OpOnDevice& o) { return o.wait_ns; });
  return CreateOnDeviceColumns(builder, launches, copy, overlap, wait);
}

auto write_activities(Builder& builder, const std::vector<Activity>& rows) {
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  const auto kind = write_column<std::uint8_t>(
      builder, rows, [](const Activity& a) { return static_cast<std::uint8_t>(a.kind); });
  const auto name = write_column<u32>(builder, rows, [](const Activity& a) { return a.name; });
  const auto op = write_column<u32>(builder, rows, [](const Activity& a) { return a.op.value(); });
  const auto stream = write_column<u32>(builder, rows, [](const Activity& a) { return a.stream; });
  const auto thread = write_column<u32>(builder, rows, [](const Activity& a) { return a.thread; });
  const auto correlation = write_column<u32>(builder, rows, [](const Activity& a) { return a.correlation; });
  const auto begin = write_column<u64>(builder, rows, [](const Activity& a) { return a.begin_ns; });
  const auto duration = write_column<u64>(builder, rows, [](const Activity& a) { return a.duration_ns; });
  const auto bytes = write_column<u64>(builder, rows, [](const Activity& a) { return a.bytes; });
  return CreateActivityColumns(builder, kind, name, op, stream, thread, correlation, begin, duration, bytes);
}

auto write_phases(Builder& builder, const std::vector<Phase>& rows) {
  const auto name = write_column<std::uint32_t>(builder, rows, [](const Phase& p) { return p.name; });
  const auto begin = write_column<std::uint64_t>(builder, rows, [](const Phase& p) { return p.begin_ns; });
  return CreatePhaseColumns(builder, name, begin);
}

Losses wire_losses(const ActivityLosses& lost) {
  return {lost.dropped, lost.refused_buffers, lost.lost_buffers, lost.unknown,      lost.unfinished,
          lost.untimed, lost.uncorrelated,    lost.unattributed, lost.missing_work, lost.beyond_limit};
}

}  // namespace

std::uint64_t content_bound(const Trace& trace) {
  std::uint64_t bytes = kTableBytes + trace.buffers.size() * kBufferRow + trace.ops.size() * kOpRow +
                        trace.values.size() * kValueRow + trace.marks.size() * kMarkRow +
                        trace.on_device.size() * kOnDeviceRow + trace.activities.size() * kActivityRow +
                        trace.phases.size() * kPhaseRow + sizeof(Losses);
  bytes += trace.info.device_name.size() + trace.info.torch_version.size() + trace.info.job.size();
  for (const std::string& name : trace.names) bytes += name.size() + 16;  // offset, length, zero, padding
  return bytes;
}

void write_trace(Builder& builder, const Trace& trace) {
  const auto device_name = builder.CreateString(trace.info.device_name);
  const auto torch_version = builder.CreateString(trace.info.torch_version);
  const auto job = builder.CreateString(trace.info.job);
  const auto names = builder.CreateVectorOfStrings(trace.names);
  const auto buffers = write_buffers(builder, trace.buffers);
  const auto ops = write_ops(builder, trace.ops);
  const auto values = write_values(builder, trace.values);
  const auto marks = write_marks(builder, trace.marks);
  const SteadyWindow window = trace.steady.value_or(SteadyWindow{});
  const SteadyTicks steady(window.previous_begin.value(), window.begin.value(), window.end.value());
  const auto on_device = write_on_device(builder, trace.on_device);
  const auto activities = write_activities(builder, trace.activities);
  const auto phases = write_phases(builder, trace.phases);
  const Losses losses = wire_losses(trace.losses);
  const auto content =
      CreateTraceContent(builder, static_cast<std::uint8_t>(trace.info.device.kind), trace.info.device.index,
                         device_name, torch_version, job, trace.info.device_memory.value(), names, buffers,
                         ops, values, marks, trace.steady ? &steady : nullptr, trace.end.value(),
                         trace.dropped, trace.from_first_allocation, trace.clock_realtime_ns, on_device,
                         activities, trace.losses == ActivityLosses{} ? nullptr : &losses, phases);
  FinishTraceContentBuffer(builder, content);
}

}  // namespace stowage::format
