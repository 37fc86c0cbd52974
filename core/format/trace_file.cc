#include "core/format/trace_file.h"

#include <array>
#include <cstring>
#include <string>

#include "core/format/columns.h"
#include "core/format/guarded.h"
#include "core/format/trace_generated.h"

namespace stowage {
namespace {

using format::ColumnReader;
using format::write_column;
using Builder = flatbuffers::FlatBufferBuilder;

constexpr std::uint8_t kPreexistingBit = 1;
constexpr std::uint8_t kCrossStreamBit = 2;
/// Bytes of one row of each table, all columns together; and an allowance for the rest.
constexpr std::uint64_t kBufferRow = 5 * 8 + 3 * 4 + 1;
constexpr std::uint64_t kOpRow = 4 * 8 + 8 * 4;
constexpr std::uint64_t kValueRow = 2 * 4;
constexpr std::uint64_t kMarkRow = 8 + 1;
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
  return format::CreateBufferColumns(builder, bytes, rounded, stream, thread, op, birth, freed, death, flags);
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
  return format::CreateOpColumns(builder, name, flags, thread, stream, parent, begin, end, duration,
                                 workspace, first, inputs, outputs);
}

auto write_values(Builder& builder, const std::vector<Value>& rows) {
  const auto buffer =
      write_column<std::uint32_t>(builder, rows, [](const Value& v) { return v.buffer.value(); });
  const auto version = write_column<std::uint32_t>(builder, rows, [](const Value& v) { return v.version; });
  return format::CreateValueColumns(builder, buffer, version);
}

auto write_marks(Builder& builder, const std::vector<Mark>& rows) {
  const auto tick = write_column<std::uint64_t>(builder, rows, [](const Mark& m) { return m.tick.value(); });
  const auto source = write_column<std::uint8_t>(
      builder, rows, [](const Mark& m) { return static_cast<std::uint8_t>(m.source); });
  return format::CreateMarkColumns(builder, tick, source);
}

/// An upper bound of the content's bytes, known before any is written.
std::uint64_t content_bound(const Trace& trace) {
  std::uint64_t bytes = kTableBytes + trace.buffers.size() * kBufferRow + trace.ops.size() * kOpRow +
                        trace.values.size() * kValueRow + trace.marks.size() * kMarkRow;
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
  const format::SteadyTicks steady(window.previous_begin.value(), window.begin.value(), window.end.value());
  const auto content = format::CreateTraceContent(
      builder, static_cast<std::uint8_t>(trace.info.device.kind), trace.info.device.index, device_name,
      torch_version, job, trace.info.device_memory.value(), names, buffers, ops, values, marks,
      trace.steady ? &steady : nullptr, trace.end.value(), trace.dropped, trace.from_first_allocation);
  format::FinishTraceContentBuffer(builder, content);
}

void read_buffers(const format::BufferColumns* table, ColumnReader& reader, std::vector<Buffer>& out) {
  if (table == nullptr) return;
  const std::size_t rows = format::row_count(table->bytes());
  const auto bytes = reader.take(table->bytes(), rows);
  const auto rounded = reader.take(table->rounded(), rows);
  const auto stream = reader.take(table->stream(), rows);
  const auto thread = reader.take(table->thread(), rows);
  const auto op = reader.take(table->op(), rows);
  const auto birth = reader.take(table->birth(), rows);
  const auto freed = reader.take(table->free_requested(), rows);
  const auto death = reader.take(table->death(), rows);
  const auto flags = reader.take(table->flags(), rows);
  if (reader.damaged()) return;
  out.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i) {
    const std::uint8_t bits = flags[i];
    reader.require(bits < 2 * kCrossStreamBit);
    out[i] = {Bytes(bytes[i]),
              Bytes(rounded[i]),
              StreamId(stream[i]),
              thread[i],
              OpId(op[i]),
              Tick(birth[i]),
              Tick(freed[i]),
              Tick(death[i]),
              (bits & kPreexistingBit) != 0,
              (bits & kCrossStreamBit) != 0};
  }
}

void read_ops(const format::OpColumns* table, ColumnReader& reader, std::vector<Op>& out) {
  if (table == nullptr) return;
  const std::size_t rows = format::row_count(table->name());
  const auto name = reader.take(table->name(), rows);
  const auto flags = reader.take(table->flags(), rows);
  const auto thread = reader.take(table->thread(), rows);
  const auto stream = reader.take(table->stream(), rows);
  const auto parent = reader.take(table->parent(), rows);
  const auto begin = reader.take(table->begin(), rows);
  const auto end = reader.take(table->end(), rows);
  const auto duration = reader.take(table->duration_ns(), rows);
  const auto workspace = reader.take(table->workspace(), rows);
  const auto first = reader.take(table->first_value(), rows);
  const auto inputs = reader.take(table->input_count(), rows);
  const auto outputs = reader.take(table->output_count(), rows);
  if (reader.damaged()) return;
  out.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i) {
    out[i] = {name[i],        flags[i],     thread[i],   StreamId(stream[i]), OpId(parent[i]),
              Tick(begin[i]), Tick(end[i]), duration[i], Bytes(workspace[i]), first[i],
              inputs[i],      outputs[i]};
  }
}

void read_values(const format::ValueColumns* table, ColumnReader& reader, std::vector<Value>& out) {
  if (table == nullptr) return;
  const std::size_t rows = format::row_count(table->buffer());
  const auto buffer = reader.take(table->buffer(), rows);
  const auto version = reader.take(table->version(), rows);
  if (reader.damaged()) return;
  out.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i) out[i] = {BufferId(buffer[i]), version[i]};
}

void read_marks(const format::MarkColumns* table, ColumnReader& reader, std::vector<Mark>& out) {
  if (table == nullptr) return;
  const std::size_t rows = format::row_count(table->tick());
  const auto tick = reader.take(table->tick(), rows);
  const auto source = reader.take(table->source(), rows);
  if (reader.damaged()) return;
  out.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i) out[i] = {Tick(tick[i]), MarkSource{source[i]}};
}

Trace read_trace(const format::TraceContent& content, ColumnReader& reader) {
  Trace trace;
  trace.info.device = {DeviceKind{content.device()}, content.device_index()};
  trace.info.device_name = reader.take(content.device_name());
  trace.info.torch_version = reader.take(content.torch_version());
  trace.info.job = reader.take(content.job());
  trace.info.device_memory = Bytes(content.device_memory());
  trace.names = reader.take_all(content.names());
  read_buffers(content.buffers(), reader, trace.buffers);
  read_ops(content.ops(), reader, trace.ops);
  read_values(content.values(), reader, trace.values);
  read_marks(content.marks(), reader, trace.marks);
  if (content.steady() != nullptr) {
    std::array<std::uint64_t, 3> steady;  // not aligned, if someone made it so
    std::memcpy(&steady, content.steady(), sizeof steady);
    trace.steady = {Tick(steady[0]), Tick(steady[1]), Tick(steady[2])};
  }
  trace.end = Tick(content.end());
  trace.dropped = content.dropped();
  trace.from_first_allocation = content.from_first_allocation();
  return trace;
}

}  // namespace

Result<std::vector<std::byte>> encode_trace(const Trace& trace) {
  return format::guarded([&]() -> Result<std::vector<std::byte>> {
    if (Status status = trace.validate(); !status) return status.error();
    if (content_bound(trace) > format::kMaxContentBytes) return format::too_large();
    Builder builder(64 * 1024);
    write_trace(builder, trace);
    return format::pack(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())),
                        format::Kind::kTrace);
  });
}

Result<Trace> decode_trace(std::span<const std::byte> file) {
  return format::guarded([&]() -> Result<Trace> {
    auto content = format::unpack(file, format::Kind::kTrace);
    if (!content) return content.error();
    auto verifier = format::make_verifier(*content);
    if (!format::VerifyTraceContentBuffer(verifier)) return format::damaged("its content breaks its schema");
    ColumnReader reader(content->size);
    Trace trace = read_trace(*format::GetTraceContent(content->bytes.get()), reader);
    if (reader.damaged()) return format::damaged("its columns do not agree");
    if (Status status = trace.validate(); !status) return format::damaged(status.error().message.c_str());
    return trace;
  });
}

Status save_trace(const Trace& trace, const std::filesystem::path& path) {
  return format::save(trace, path, encode_trace);
}

Result<Trace> load_trace(const std::filesystem::path& path) {
  return format::load<Trace>(path, format::Kind::kTrace, decode_trace);
}

}  // namespace stowage
