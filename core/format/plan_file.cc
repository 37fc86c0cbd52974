#include "core/format/plan_file.h"

#include <string>

#include "core/format/columns.h"
#include "core/format/guarded.h"
#include "core/format/plan_generated.h"

namespace stowage {
namespace {

using format::ColumnReader;
using format::write_column;
using Builder = flatbuffers::FlatBufferBuilder;

/// Bytes of one row of each table, all columns together; and an allowance for the rest.
constexpr std::uint64_t kEntryRow = 3 * 8 + 4 + 1;
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
  return format::CreateEntryColumns(builder, rounded, stream, offset, spare, crosses);
}

/// An upper bound of the content's bytes, known before any is written.
std::uint64_t content_bound(const Plan& plan) {
  return kTableBytes + plan.entries.size() * kEntryRow + plan.inner_marks.size() * kMarkRow +
         plan.technique.size();
}

void write_plan(Builder& builder, const Plan& plan) {
  const auto entries = write_entries(builder, plan.entries);
  const auto inner_marks = builder.CreateVector(plan.inner_marks);
  const auto technique = builder.CreateString(plan.technique);
  const auto content = format::CreatePlanContent(
      builder, static_cast<std::uint8_t>(plan.device), plan.fingerprint, entries, inner_marks,
      plan.height.value(), plan.lower_bound.value(), plan.proved_optimal, technique, plan.planning_ns);
  format::FinishPlanContentBuffer(builder, content);
}

void read_entries(const format::EntryColumns* table, ColumnReader& reader, std::vector<PlanEntry>& out) {
  if (table == nullptr) return;
  const std::size_t rows = format::row_count(table->rounded());
  const auto rounded = reader.take(table->rounded(), rows);
  const auto stream = reader.take(table->stream(), rows);
  const auto offset = reader.take(table->offset(), rows);
  const auto spare = reader.take(table->spare(), rows);
  const bool known = table->crosses() != nullptr;
  const auto crosses = reader.take(table->crosses(), known ? rows : 0);
  if (reader.damaged()) return;
  out.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i) {
    const bool crossing = known && crosses[i] == 1;
    reader.require(!known || crosses[i] <= 1);
    out[i] = {Bytes(rounded[i]), StreamId(stream[i]), Offset(offset[i]), Offset(spare[i]), crossing};
  }
}

void read_inner_marks(const flatbuffers::Vector<std::uint32_t>* column, ColumnReader& reader,
                      std::vector<std::uint32_t>& out) {
  const std::size_t rows = format::row_count(column);
  const auto marks = reader.take(column, rows);
  if (reader.damaged()) return;
  for (std::size_t i = 0; i < rows; ++i) out.push_back(marks[i]);
}

Plan read_plan(const format::PlanContent& content, ColumnReader& reader) {
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

}  // namespace

Result<std::vector<std::byte>> encode_plan(const Plan& plan) {
  return format::guarded([&]() -> Result<std::vector<std::byte>> {
    if (Status status = plan.validate(); !status) return status.error();
    if (content_bound(plan) > format::kMaxContentBytes) return format::too_large();
    Builder builder(16 * 1024);
    write_plan(builder, plan);
    return format::pack(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())),
                        format::Kind::kPlan);
  });
}

Result<Plan> decode_plan(std::span<const std::byte> file) {
  return format::guarded([&]() -> Result<Plan> {
    auto content = format::unpack(file, format::Kind::kPlan);
    if (!content) return content.error();
    auto verifier = format::make_verifier(*content);
    if (!format::VerifyPlanContentBuffer(verifier)) return format::damaged("its content breaks its schema");
    ColumnReader reader(content->size);
    Plan plan = read_plan(*format::GetPlanContent(content->bytes.get()), reader);
    if (reader.damaged()) return format::damaged("its columns do not agree");
    if (Status status = plan.validate(); !status) return format::damaged(status.error().message.c_str());
    return plan;
  });
}

Status save_plan(const Plan& plan, const std::filesystem::path& path) {
  return format::save(plan, path, encode_plan);
}

Result<Plan> load_plan(const std::filesystem::path& path) {
  return format::load<Plan>(path, format::Kind::kPlan, decode_plan);
}

}  // namespace stowage
