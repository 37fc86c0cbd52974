#include "core/format/kept_plans_file.h"

#include <string>

#include "core/format/context_content.h"
#include "core/format/guarded.h"
#include "core/format/kept_plans_generated.h"
#include "core/format/plan_content.h"

namespace stowage {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;

/// Each plan is two tables; the file and its context are two more.
constexpr flatbuffers::uoffset_t kMaxTables = 2 * kMostKeptPlans + 2;

std::uint64_t content_bound(const KeptPlans& kept) {
  constexpr std::uint64_t kTables = 4096;
  std::uint64_t bytes = kTables + format::context_content_bound(kept.context) + kept.job.size();
  for (const Plan& plan : kept.plans) bytes += format::plan_content_bound(plan);
  bytes += kept.history.size() * sizeof(std::uint32_t);
  return bytes;
}

void write_kept_plans(Builder& builder, const KeptPlans& kept) {
  const auto context = format::write_context_content(builder, kept.context);
  const auto job = builder.CreateString(kept.job);
  std::vector<flatbuffers::Offset<format::PlanContent>> plans;
  plans.reserve(kept.plans.size());
  for (const Plan& plan : kept.plans) plans.push_back(format::write_plan_content(builder, plan));
  const auto all = builder.CreateVector(plans);
  const auto history = builder.CreateVector(kept.history);
  const auto content = format::CreateKeptPlansContent(builder, context, job, all, kept.opening, history,
                                                      static_cast<std::uint8_t>(kept.marks),
                                                      kept.lower_bound.value(), kept.need.value());
  format::FinishKeptPlansContentBuffer(builder, content);
}

/// What comes when.
void read_order(const format::KeptPlansContent& content, format::ColumnReader& reader, KeptPlans& kept) {
  kept.opening = content.opening();
  if (content.history() != nullptr) {
    const std::size_t rows = format::row_count(content.history());
    const auto history = reader.take(content.history(), rows);
    for (std::size_t i = 0; i < rows && !reader.damaged(); ++i) kept.history.push_back(history[i]);
  }
  reader.require(content.marks() <= static_cast<std::uint8_t>(MarkSource::kUser));
  kept.marks = MarkSource{content.marks()};
  kept.lower_bound = Bytes(content.lower_bound());
  kept.need = Bytes(content.need());
}

KeptPlans read_kept_plans(const format::KeptPlansContent& content, format::ColumnReader& reader) {
  KeptPlans kept;
  reader.require(content.context() != nullptr);
  if (content.context() != nullptr) kept.context = format::read_context_content(*content.context(), reader);
  kept.job = reader.take(content.job());
  const std::size_t plans = content.plans() == nullptr ? 0 : content.plans()->size();
  reader.require(plans <= kMostKeptPlans);
  for (std::uint32_t i = 0; i < plans && !reader.damaged(); ++i)
    kept.plans.push_back(format::read_plan_content(*content.plans()->Get(i), reader));
  read_order(content, reader, kept);
  return kept;
}

}  // namespace

Result<std::vector<std::byte>> encode_kept_plans(const KeptPlans& kept) {
  return format::encode(kept, format::Kind::kKeptPlans, content_bound, write_kept_plans);
}

Result<KeptPlans> decode_kept_plans(std::span<const std::byte> file) {
  return format::decode<KeptPlans>(
      file, format::Kind::kKeptPlans, format::VerifyKeptPlansContentBuffer,
      [](const void* content, format::ColumnReader& reader) {
        return read_kept_plans(*format::GetKeptPlansContent(content), reader);
      },
      kMaxTables);
}

}  // namespace stowage
