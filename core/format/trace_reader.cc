#include "core/format/trace_reader.h"

#include <array>
#include <cstring>

#include "core/format/trace_generated.h"

namespace stowage::format {
namespace {

void read_buffers(const BufferColumns* table, ColumnReader& reader, std::vector<Buffer>& out) {
  if (table == nullptr) return;
  const std::size_t rows = row_count(table->bytes());
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

// Absent in older files.
void read_op_times(const OpColumns& table, ColumnReader& reader, std::vector<Op>& out) {
  if (table.timed_by() == nullptr) return;
  const auto timed_by = reader.take(table.timed_by(), out.size());
  const auto begin = reader.take(table.begin_ns(), out.size());
  const auto end = reader.take(table.end_ns(), out.size());
  if (reader.damaged()) return;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].timed_by = TimeSource{timed_by[i]};
    out[i].begin_ns = begin[i];
    out[i].end_ns = end[i];
  }
}

void read_ops(const OpColumns* table, ColumnReader& reader, std::vector<Op>& out) {
  if (table == nullptr) return;
  const std::size_t rows = row_count(table->name());
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
    Op& op = out[i];
    op.name = name[i];
    op.flags = flags[i];
    op.thread = thread[i];
    op.stream = StreamId(stream[i]);
    op.parent = OpId(parent[i]);
    op.begin = Tick(begin[i]);
    op.end = Tick(end[i]);
    op.duration_ns = duration[i];
    op.workspace = Bytes(workspace[i]);
    op.first_value = first[i];
    op.input_count = inputs[i];
    op.output_count = outputs[i];
  }
  read_op_times(*table, reader, out);
}

void read_values(const ValueColumns* table, ColumnReader& reader, std::vector<Value>& out) {
  if (table == nullptr) return;
  const std::size_t rows = row_count(table->buffer());
  const auto buffer = reader.take(table->buffer(), rows);
  const auto version = reader.take(table->version(), rows);
  if (reader.damaged()) return;
  out.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i) out[i] = {BufferId(buffer[i]), version[i]};
}

void read_marks(const MarkColumns* table, ColumnReader& reader, std::vector<Mark>& out) {
  if (table == nullptr) return;
  const std::size_t rows = row_count(table->tick());
  const auto tick = reader.take(table->tick(), rows);
  const auto source = reader.take(table->source(), rows);
  if (reader.damaged()) return;
  out.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i) out[i] = {Tick(tick[i]), MarkSource{source[i]}};
  if (table->at_ns() == nullptr) return;
  const auto at = reader.take(table->at_ns(), rows);
  if (reader.damaged()) return;
  for (std::uint32_t i = 0; i < rows; ++i) out[i].at_ns = at[i];
}

void read_on_device(const OnDeviceColumns* table, ColumnReader& reader, std::vector<OpOnDevice>& out) {
  if (table == nullptr) return;
  const std::size_t rows = row_count(table->launches());
  const auto launches = reader.take(table->launches(), rows);
  const auto copy = reader.take(table->copy_ns(), rows);
  const auto overlap = reader.take(table->overlap_ns(), rows);
  const auto wait = reader.take(table->wait_ns(), rows);
  if (reader.damaged()) return;
  out.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i) out[i] = {launches[i], copy[i], overlap[i], wait[i]};
}

void read_activities(const ActivityColumns* table, ColumnReader& reader, std::vector<Activity>& out) {
  if (table == nullptr) return;
  const std::size_t rows = row_count(table->kind());
  const auto kind = reader.take(table->kind(), rows);
  const auto name = reader.take(table->name(), rows);
  const auto op = reader.take(table->op(), rows);
  const auto stream = reader.take(table->stream(), rows);
  const auto thread = reader.take(table->thread(), rows);
  const auto correlation = reader.take(table->correlation(), rows);
  const auto begin = reader.take(table->begin_ns(), rows);
  const auto duration = reader.take(table->duration_ns(), rows);
  const auto bytes = reader.take(table->bytes(), rows);
  if (reader.damaged()) return;
  out.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i)
    out[i] = {ActivityKind{kind[i]}, name[i],  OpId(op[i]), stream[i], thread[i],
              correlation[i],        begin[i], duration[i], bytes[i]};
}

void read_phases(const PhaseColumns* table, ColumnReader& reader, std::vector<Phase>& out) {
  if (table == nullptr) return;
  const std::size_t rows = row_count(table->name());
  const auto name = reader.take(table->name(), rows);
  const auto begin = reader.take(table->begin_ns(), rows);
  if (reader.damaged()) return;
  for (std::uint32_t i = 0; i < rows; ++i) out.push_back({name[i], begin[i]});
}

ActivityLosses read_losses(const Losses* wire) {
  if (wire == nullptr) return {};
  std::array<std::uint64_t, 10> lost;  // not aligned, if someone made it so
  static_assert(sizeof lost == sizeof *wire);
  std::memcpy(&lost, wire, sizeof lost);
  return {lost[0], lost[1], lost[2], lost[3], lost[4], lost[5], lost[6], lost[7], lost[8], lost[9]};
}

}  // namespace

Trace read_trace(const TraceContent& content, ColumnReader& reader) {
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
  trace.clock_realtime_ns = content.clock_realtime_ns();
  read_on_device(content.on_device(), reader, trace.on_device);
  read_activities(content.activities(), reader, trace.activities);
  trace.losses = read_losses(content.losses());
  read_phases(content.phases(), reader, trace.phases);
  return trace;
}

}  // namespace stowage::format
