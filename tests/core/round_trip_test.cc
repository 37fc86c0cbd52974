#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <span>

#include "core/format/container.h"
#include "core/format/plan_file.h"
#include "core/format/trace_file.h"
#include "tests/core/random_trace.h"

namespace stowage {
namespace {

TEST(RoundTrip, RandomTraces) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    testing::RandomTraceOptions options;
    options.events = static_cast<std::uint32_t>(seed * seed % 5000);
    const Trace trace = testing::random_trace(seed, options);
    const auto bytes = encode_trace(trace);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    const auto back = decode_trace(*bytes);
    ASSERT_TRUE(back.ok()) << "seed " << seed << ": " << back.error().message;
    ASSERT_TRUE(*back == trace) << "seed " << seed;
    ASSERT_TRUE(*bytes == *encode_trace(*back)) << "seed " << seed;
  }
}

TEST(RoundTrip, RandomPlans) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Plan plan = testing::random_plan(seed, static_cast<std::uint32_t>(seed * 7));
    const auto bytes = encode_plan(plan);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    const auto back = decode_plan(*bytes);
    ASSERT_TRUE(back.ok()) << "seed " << seed << ": " << back.error().message;
    ASSERT_TRUE(*back == plan) << "seed " << seed;
  }
}

TEST(RoundTrip, WhatCrossesTheIterationsEnd) {
  Plan plan = testing::random_plan(7);
  for (std::size_t i = 0; i < plan.entries.size(); i += 3) plan.entries[i].crosses = true;
  const auto back = decode_plan(*encode_plan(plan));
  ASSERT_TRUE(back.ok()) << back.error().message;
  for (std::size_t i = 0; i < plan.entries.size(); ++i)
    EXPECT_EQ(back->entries[i].crosses, i % 3 == 0) << "entry " << i;
  EXPECT_TRUE(*back == plan);
}

TEST(RoundTrip, EmptyObjects) {
  EXPECT_TRUE(*decode_trace(*encode_trace(Trace())) == Trace());
  EXPECT_TRUE(*decode_plan(*encode_plan(Plan())) == Plan());
}

TEST(RoundTrip, TextOfAnyBytes) {
  Trace trace;
  trace.info.job = std::string("python\0train.py \xff\xfe", 18);
  trace.names = {"", std::string(100'000, 'n'), "aten::größe"};
  EXPECT_TRUE(*decode_trace(*encode_trace(trace)) == trace);
}

TEST(RoundTrip, WhatCompressesTooWellIsStored) {
  Trace trace;
  trace.values.assign(2'000'000, Value{kNoBuffer, 0});
  const auto bytes = encode_trace(trace);
  ASSERT_TRUE(bytes.ok());
  const auto back = decode_trace(*bytes);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(*back == trace);
  EXPECT_GT(bytes->size(), 16'000'000u);
}

TEST(RoundTrip, InvalidObjectsAreNotWritten) {
  Trace trace;
  trace.info.device.kind = DeviceKind{9};
  EXPECT_EQ(encode_trace(trace).error().code, ErrorCode::kUnplannable);
  Plan plan;
  plan.height = Bytes(512);
  EXPECT_EQ(encode_plan(plan).error().code, ErrorCode::kInvalidPlan);
}

TEST(Container, LayoutIsAsTheHeaderSays) {
  const auto file = *encode_plan(testing::random_plan(1));
  const unsigned char magic[] = {0x89, 'S', 'T', 'O', 'W', 0x0d, 0x0a, 0x1a, 1, 0, 0, 0, 2, 0, 1, 0};
  ASSERT_EQ(std::memcmp(file.data(), magic, sizeof magic), 0);
  std::uint64_t payload_bytes = 0;
  std::memcpy(&payload_bytes, file.data() + 16, sizeof payload_bytes);
  EXPECT_EQ(payload_bytes, file.size() - format::kHeaderBytes);
  std::uint64_t stored = 0;
  std::memcpy(&stored, file.data() + 40, sizeof stored);
  const std::span<const std::byte> bytes(file);
  EXPECT_EQ(stored, format::checksum(bytes.subspan(48), format::checksum(bytes.first(40), 0)));
}

TEST(Container, AFileOfTheFirstVersionIsStillRead) {
  const auto path = std::filesystem::path(STOWAGE_TEST_DATA) / "version_1.stowplan";
  const auto plan = load_plan(path);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  Plan written = testing::random_plan(20);
  written.planning_ns = plan->planning_ns;  // was drawn after the actions that a plan had then
  EXPECT_TRUE(*plan == written);
  // That version had no word for what crosses the iteration's end.
  for (const PlanEntry& entry : plan->entries) EXPECT_FALSE(entry.crosses);
}

TEST(Checksum, FindsEveryChangeOfOneByteAndOfLength) {
  std::vector<std::byte> bytes(97, std::byte{0});
  const std::uint64_t sound = format::checksum(bytes, 0);
  for (std::byte& byte : bytes) {
    for (int value = 1; value < 256; ++value) {
      byte = static_cast<std::byte>(value);
      ASSERT_NE(format::checksum(bytes, 0), sound);
    }
    byte = std::byte{0};
  }
  bytes.push_back(std::byte{0});
  EXPECT_NE(format::checksum(bytes, 0), sound);
}

}  // namespace
}  // namespace stowage
