#include "core/format/kept_schedule_file.h"

#include <optional>
#include <string>
#include <utility>

#include "core/format/actions_content.h"
#include "core/format/context_content.h"
#include "core/format/guarded.h"
#include "core/format/kept_schedule_generated.h"

namespace stowage {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;

std::uint64_t content_bound(const KeptSchedule& kept) {
  constexpr std::uint64_t kTables = 4096;
  return kTables + format::context_content_bound(kept.context) + kept.job.size() +
         kept.shape_hashes.size() * sizeof(std::uint64_t) + kept.made_before.size() * sizeof(std::uint32_t) +
         kept.actions.size() * sizeof(Action) + kept.lasting.size() * sizeof(UseAt);
}

void write_kept_schedule(Builder& builder, const KeptSchedule& kept) {
  const auto context = format::write_context_content(builder, kept.context);
  const auto job = builder.CreateString(kept.job);
  const auto shapes = builder.CreateVector(kept.shape_hashes);
  const auto actions =
      format::write_column<std::uint8_t>(builder, encode_actions(kept.actions),
                                         [](std::byte one) { return std::to_integer<std::uint8_t>(one); });
  const auto made_before = builder.CreateVector(kept.made_before);
  const auto ops =
      format::write_column<std::uint32_t>(builder, kept.lasting, [](const UseAt& use) { return use.op; });
  const auto inputs =
      format::write_column<std::uint32_t>(builder, kept.lasting, [](const UseAt& use) { return use.input; });
  const auto content = format::CreateKeptScheduleContent(builder, context, job, kept.marks, shapes, actions,
                                                         made_before, ops, inputs);
  format::FinishKeptScheduleContentBuffer(builder, content);
}

KeptSchedule read_kept_schedule(const format::KeptScheduleContent& content, format::ColumnReader& reader) {
  KeptSchedule kept;
  reader.require(content.context() != nullptr);
  if (content.context() != nullptr) kept.context = format::read_context_content(*content.context(), reader);
  kept.job = reader.take(content.job());
  kept.marks = content.marks();
  const std::size_t ops = format::row_count(content.shape_hashes());
  const auto shapes = reader.take(content.shape_hashes(), ops);
  for (std::size_t i = 0; i < ops && !reader.damaged(); ++i) kept.shape_hashes.push_back(shapes[i]);
  const std::size_t counts = format::row_count(content.made_before());
  const auto before = reader.take(content.made_before(), counts);
  for (std::size_t i = 0; i < counts && !reader.damaged(); ++i) kept.made_before.push_back(before[i]);
  const std::size_t bytes = format::row_count(content.actions());
  const auto told = reader.take(content.actions(), bytes);
  std::vector<std::byte> encoded;
  for (std::size_t i = 0; i < bytes && !reader.damaged(); ++i) encoded.push_back(std::byte{told[i]});
  std::optional<std::vector<Action>> actions = decode_actions(encoded);
  reader.require(actions.has_value());
  if (actions) kept.actions = std::move(*actions);
  const std::size_t lasting = format::row_count(content.lasting_ops());
  const auto lasting_ops = reader.take(content.lasting_ops(), lasting);
  const auto lasting_inputs = reader.take(content.lasting_inputs(), lasting);
  for (std::size_t i = 0; i < lasting && !reader.damaged(); ++i)
    kept.lasting.push_back({lasting_ops[i], lasting_inputs[i]});
  return kept;
}

}  // namespace

Result<std::vector<std::byte>> encode_kept_schedule(const KeptSchedule& kept) {
  return format::encode(kept, format::Kind::kKeptSchedule, content_bound, write_kept_schedule);
}

Result<KeptSchedule> decode_kept_schedule(std::span<const std::byte> file) {
  return format::decode<KeptSchedule>(
      file, format::Kind::kKeptSchedule, format::VerifyKeptScheduleContentBuffer,
      [](const void* content, format::ColumnReader& reader) {
        return read_kept_schedule(*format::GetKeptScheduleContent(content), reader);
      });
}

}  // namespace stowage
