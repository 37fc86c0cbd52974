// Contents that random mutation would hardly find: made by hand to be believed.
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <string>

#include "core/format/plan_file.h"
#include "core/format/trace_file.h"
#include "core/format/trace_generated.h"
#include "tests/core/memory_meter.h"
#include "tests/core/mutants.h"
#include "tests/core/random_trace.h"

namespace stowage {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;

testing::FileBytes seal(const Builder& builder, format::Kind kind) {
  return format::pack(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())), kind).value();
}

template <class T>
void expect_damaged(const Result<T>& result, const char* message) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kDamagedFile);
  EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().message;
}

TEST(Hostile, OneStringGivenAsThousandsOfNamesTakesNoMemory) {
  Builder builder;
  const auto text = builder.CreateString(std::string(100'000, 'x'));
  const auto names = builder.CreateVector(std::vector(20'000, text));
  format::TraceContentBuilder content(builder);
  content.add_names(names);
  format::FinishTraceContentBuffer(builder, content.Finish());
  const auto file = seal(builder, format::Kind::kTrace);
  testing::reset_memory_peak();
  expect_damaged(decode_trace(file), "its columns do not agree");
  EXPECT_LT(testing::memory_peak(), 4'000'000u);
}

TEST(Hostile, OneVectorGivenAsAllColumnsTakesNoMemory) {
  Builder builder;
  const auto wide = builder.CreateVector(std::vector<std::uint64_t>(100'000, 512));
  const auto narrow = builder.CreateVector(std::vector<std::uint32_t>(100'000, 0));
  const auto flags = builder.CreateVector(std::vector<std::uint8_t>(100'000, 1));
  const auto buffers =
      format::CreateBufferColumns(builder, wide, wide, narrow, narrow, narrow, wide, wide, wide, flags);
  format::TraceContentBuilder content(builder);
  content.add_buffers(buffers);
  format::FinishTraceContentBuffer(builder, content.Finish());
  expect_damaged(decode_trace(seal(builder, format::Kind::kTrace)), "its columns do not agree");
}

TEST(Hostile, ColumnsOfUnequalLengthAreDamage) {
  Builder builder;
  const auto two = builder.CreateVector(std::vector<std::uint32_t>(2, 0));
  const auto three = builder.CreateVector(std::vector<std::uint32_t>(3, 0));
  const auto values = format::CreateValueColumns(builder, two, three);
  format::TraceContentBuilder content(builder);
  content.add_values(values);
  format::FinishTraceContentBuffer(builder, content.Finish());
  expect_damaged(decode_trace(seal(builder, format::Kind::kTrace)), "its columns do not agree");
}

TEST(Hostile, AMissingColumnIsDamage) {
  Builder builder;
  const auto marks =
      format::CreateMarkColumns(builder, builder.CreateVector(std::vector<std::uint64_t>{1, 2}), 0);
  format::TraceContentBuilder content(builder);
  content.add_marks(marks);
  content.add_end(5);
  format::FinishTraceContentBuffer(builder, content.Finish());
  expect_damaged(decode_trace(seal(builder, format::Kind::kTrace)), "its columns do not agree");
}

TEST(Hostile, ASoundBufferThatIsNoValidTraceIsDamage) {
  Builder builder;
  format::TraceContentBuilder content(builder);
  content.add_device(7);
  format::FinishTraceContentBuffer(builder, content.Finish());
  expect_damaged(decode_trace(seal(builder, format::Kind::kTrace)), "device: its kind is not known");
}

TEST(Hostile, ATraceInAPlansContainerIsDamage) {
  Builder builder;
  format::TraceContentBuilder content(builder);
  format::FinishTraceContentBuffer(builder, content.Finish());
  expect_damaged(decode_plan(seal(builder, format::Kind::kPlan)), "its content breaks its schema");
}

TEST(Hostile, AnEmptyContentIsDamage) {
  expect_damaged(decode_plan(format::pack({}, format::Kind::kPlan).value()), "its content breaks its schema");
}

/// A good plan's file with `number` put at `offset` of its header, lengths and checksum repaired.
template <class Number>
testing::FileBytes with_header(std::size_t offset, Number number) {
  testing::FileBytes file = encode_plan(testing::random_plan(3)).value();
  std::memcpy(file.data() + offset, &number, sizeof number);
  testing::repair(file);
  return file;
}

TEST(Hostile, ALaterVersionIsNamed) {
  const auto plan = decode_plan(with_header<std::uint32_t>(8, 2));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kUnknownVersion);
  EXPECT_NE(plan.error().message.find("version 2"), std::string::npos) << plan.error().message;
}

TEST(Hostile, HeaderFieldsThatLieAreDamage) {
  expect_damaged(decode_plan(with_header<std::uint16_t>(12, 5)), "its kind is not known");
  expect_damaged(decode_plan(with_header<std::uint16_t>(14, 2)), "its encoding is not known");
  expect_damaged(decode_plan(with_header<std::uint16_t>(14, 0)), "its two sizes do not agree");
  expect_damaged(decode_plan(with_header<std::uint64_t>(24, ~std::uint64_t{0})), "larger than 1 GiB");
  expect_damaged(decode_plan(with_header<std::uint64_t>(24, 500'000'000)), "implausibly large");
  expect_damaged(decode_plan(with_header<std::uint64_t>(24, 3)), "");
  expect_damaged(decode_plan(with_header<std::uint64_t>(32, 1)), "reserved");
}

TEST(Hostile, ABombIsNotUnpacked) {
  // 64 MiB of zeros in some kilobytes, with every field true.
  const std::vector<char> zeros(std::size_t{64} << 20u);
  testing::FileBytes file = with_header<std::uint64_t>(24, zeros.size());
  file.resize(format::kHeaderBytes + ZSTD_compressBound(zeros.size()));
  file.resize(format::kHeaderBytes + ZSTD_compress(file.data() + format::kHeaderBytes,
                                                   file.size() - format::kHeaderBytes, zeros.data(),
                                                   zeros.size(), 3));
  testing::repair(file);
  ASSERT_LT(file.size(), 100'000u);
  testing::reset_memory_peak();
  expect_damaged(decode_plan(file), "implausibly large");
  EXPECT_LT(testing::memory_peak(), 100'000u);
}

}  // namespace
}  // namespace stowage
