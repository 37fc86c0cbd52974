#include "core/format/plan_content.h"

#include <string>

namespace stowage::format {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;

/// Bytes of one row of each table, all columns together; and an allowance for the rest.
constexpr std::uint64_t kEntryRow = 3 * 8 + 4 + 1 + 4;
constexpr std::uint64_t kMarkRow = 4;
constexpr std::uint64_t kTableBytes = 4096;

auto write_entries(Builder& builder, const std::vector<PlanEntry>& rows) {
  using u64 = std::uint64_t;
  const auto rounded = write_column<u64>(builder, rows, [](const PlanEntry& e) { return e.rounded.value(); });
  const auto stream =
      write_column<std::uint32_t>(builder, rows, [](const PlanEntry& e) { return e.stream.value(); });
  const auto offset = write_column<u64>(builder, rows, [](const PlanEntry& e) { return e.offset.value(); });
  const auto spare = write_column<u64>(builder, rows, [](const PlanEntry& e) { return e.spare.value(); });
  const auto crosses =
      write_column<std::uint8_t>(builder, rows, [](const PlanEntry& e) { return e.crosses ? 1 : 0; });
  const auto death = write_column<std::uint32_t>(builder, rows, [](const PlanEntry& e) { return e.death; });
  return CreateEntryColumns(builder, rounded, stream, offset, spare, crosses, death);
}

void read_entries(const EntryColumns* table, ColumnReader& reader, std::vector<PlanEntry>& out) {
  if (table == nullptr) return;
  const std::size_t rows = row_count(table->rounded());
  const auto rounded = reader.take(table->rounded(), rows);
  const auto stream = reader.take(table->stream(), rows);
  const auto offset = reader.take(table->offset(), rows);
  const auto spare = reader.take(table->spare(), rows);
  const bool known = table->crosses() != nullptr;
  const auto crosses = reader.take(table->crosses(), known ? rows : 0);
  const bool timed = table->death() != nullptr;
  const auto death = reader.take(table->death(), timed ? rows : 0);
  if (reader.damaged()) return;
  out.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i) {
    const bool crossing = known && crosses[i] == 1;
    reader.require(!known || crosses[i] <= 1);
    out[i] = {Bytes(rounded[i]), StreamId(stream[i]), Offset(offset[i]), Offset(spare[i]), crossing};
    if (timed) out[i].death = death[i];
  }
}

void read_inner_marks(const flatbuffers::Vector<std::uint32_t>* column, ColumnReader& reader,
                      std::vector<std::uint32_t>& out) {
  const std::size_t rows = row_count(column);
  const auto marks = reader.take(column, rows);
  if (reader.damaged()) return;
  for (std::size_t i = 0; i < rows; ++i) out.push_back(marks[i]);
}

}  // namespace

std::uint64_t plan_content_bound(const Plan& plan) {
  return kTableBytes + plan.entries.size() * kEntryRow + plan.inner_marks.size() * kMarkRow +
         plan.technique.size();
}

flatbuffers::Offset<PlanContent> write_plan_content(Builder& builder, const Plan& plan) {
  const auto entries = write_entries(builder, plan.entries);
  const auto inner_marks = builder.CreateVector(plan.inner_marks);
  const auto technique = builder.CreateString(plan.technique);
  return CreatePlanContent(builder, static_cast<std::uint8_t>(plan.device), plan.fingerprint, entries,
                           inner_marks, plan.height.value(), plan.lower_bound.value(), plan.proved_optimal,
                           technique, plan.planning_ns);
}

Plan read_plan_content(const PlanContent& content, ColumnReader& reader) {
  Plan plan;
  plan.device = DeviceKind{content.device()};
  plan.fingerprint = content.fingerprint();
  read_entries(content.entries(), reader, plan.entries);
  read_inner_marks(content.inner_marks(), reader, plan.inner_marks);
  plan.height = Bytes(content.height());
  plan.lower_bound = Bytes(content.lower_bound());
  plan.proved_optimal = content.proved_optimal();
  plan.technique = reader.take(content.technique());
  plan.planning_ns = content.planning_ns();
  return plan;
}

}  // namespace stowage::format
