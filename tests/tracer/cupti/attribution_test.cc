// Which op gets which GPU work, from records built by hand: in order, out of order, missing and wrong.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/random_trace.h"
#include "tracer/cupti/times/attribution.h"

namespace stowage::tracer::cupti {
namespace {

constexpr std::uint32_t kNone = Attribution::kNoOpIndex;

Record work(RecordKind kind, std::uint32_t correlation, std::uint64_t begin, std::uint64_t end,
            std::uint32_t stream = 7, std::uint32_t device = 0) {
  Record record;
  record.kind = kind;
  record.correlation = correlation;
  record.begin = begin;
  record.end = end;
  record.stream = stream;
  record.device = device;
  return record;
}
Record kernel(std::uint32_t correlation, std::uint64_t begin, std::uint64_t end, std::uint32_t stream = 7) {
  return work(RecordKind::kKernel, correlation, begin, end, stream);
}
Record call(std::uint32_t correlation, std::uint32_t cbid = 211) {
  Record record = work(RecordKind::kRuntimeCall, correlation, 1, 2);
  record.detail = cbid;
  return record;
}
Record external(std::uint32_t correlation, std::uint64_t id, std::uint32_t kind = kOurExternalKind) {
  Record record;
  record.kind = RecordKind::kExternalCorrelation;
  record.correlation = correlation;
  record.value = id;
  record.detail = kind;
  return record;
}

Attribution attributed(const std::vector<Record>& records, const std::vector<OpenedOp>& ops,
                       ActivityLosses* losses = nullptr) {
  ActivityLosses own;
  return attribute(records, ops, 0, losses != nullptr ? *losses : own);
}

TEST(Attribution, AnOpGetsTheWorkOfItsCalls) {
  const auto found = attributed(
      {external(1, 10), call(1), external(2, 11), call(2), kernel(1, 100, 130), kernel(2, 130, 135)},
      {{10, 0}, {11, 0}});
  EXPECT_EQ(found.work[0].busy, 30u);
  EXPECT_EQ(found.work[1].busy, 5u);
  EXPECT_EQ(found.work[0].launches, 1u);
  EXPECT_EQ(found.work[0].stream, 7u);
  EXPECT_EQ(found.op_of[4], 0u);
}

TEST(Attribution, RecordsMayComeInAnyOrder) {
  const std::vector<Record> records{
      external(1, 10),     call(1), kernel(1, 100, 130), external(2, 11), call(2),
      kernel(2, 140, 150), call(3), kernel(3, 160, 170)};
  const std::vector<OpenedOp> ops{{10, 0}, {11, 10}};
  const Attribution straight = attributed(records, ops);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    stowage::testing::Random random(seed);
    std::vector<Record> shuffled = records;
    for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[random.below(i)]);
    const Attribution found = attributed(shuffled, ops);
    for (std::size_t op = 0; op < ops.size(); ++op) {
      EXPECT_EQ(found.work[op].busy, straight.work[op].busy);
      EXPECT_EQ(found.work[op].launches, straight.work[op].launches);
    }
  }
}

TEST(Attribution, KernelsThatOverlapCountOnce) {
  const auto found = attributed(
      {external(1, 10), call(1), kernel(1, 100, 130), kernel(1, 120, 150), kernel(1, 120, 125)}, {{10, 0}});
  EXPECT_EQ(found.work[0].busy, 50u);
  EXPECT_EQ(found.work[0].launches, 3u) << "a graph launch has many kernels";
  EXPECT_EQ(found.work[0].span, 50u);
}

TEST(Attribution, AnOpIncludesTheOpsInsideIt) {
  const auto found =
      attributed({external(1, 10), call(1), external(2, 12), call(2), external(3, 13), call(3),
                  kernel(1, 100, 110), kernel(2, 110, 140), work(RecordKind::kMemcpy, 3, 150, 160)},
                 {{10, 0}, {12, 10}, {13, 12}});
  EXPECT_EQ(found.work[0].busy, 50u);
  EXPECT_EQ(found.work[1].busy, 40u);
  EXPECT_EQ(found.work[2].busy, 10u);
  EXPECT_EQ(found.work[0].copying, 10u);
  EXPECT_EQ(found.work[0].launches, 2u);
  EXPECT_EQ(found.op_of[8], 2u) << "the innermost";
}

TEST(Attribution, OverlapIsWhatRunsOnAnotherStream) {
  const auto found = attributed({external(1, 10), call(1), external(2, 11), call(2), kernel(1, 100, 200, 7),
                                 kernel(2, 150, 260, 8), kernel(2, 190, 195, 7)},
                                {{10, 0}, {11, 0}});
  EXPECT_EQ(found.work[0].overlapping, 50u);
  EXPECT_EQ(found.work[1].overlapping, 55u) << "50 beside the first op's, 5 beside its own on stream 7";
  EXPECT_EQ(found.work[1].busy, 110u);
  EXPECT_EQ(found.work[1].stream, 8u);
}

TEST(Attribution, WaitsAreHostTime) {
  Record wait = work(RecordKind::kSynchronization, 1, 500, 800);
  const auto found = attributed({external(1, 10), call(1, 131), wait}, {{10, 0}});
  EXPECT_EQ(found.work[0].waiting, 300u);
  EXPECT_EQ(found.work[0].busy, 0u);
}

TEST(Attribution, IdsOfOtherClientsMeanNothing) {
  ActivityLosses losses;
  const auto found = attributed({external(1, 10, 3), call(1), kernel(1, 100, 110)}, {{10, 0}}, &losses);
  EXPECT_EQ(found.op_of[2], kNone);
  EXPECT_EQ(losses.unattributed, 1u);
  EXPECT_FALSE(losses.any()) << "work outside of ops is no loss";
}

TEST(Attribution, WorkOfAnotherDeviceIsNotCounted) {
  std::vector<Record> records{external(1, 10), call(1),
                              work(RecordKind::kKernel, 1, 100, 110, 7, /*device=*/1)};
  EXPECT_EQ(attributed(records, {{10, 0}}).work[0].busy, 0u);
}

TEST(Attribution, WhatIsMissingOrWrongIsCounted) {
  ActivityLosses losses;
  const auto found = attributed({external(1, 10), call(1), kernel(1, 100, 0), kernel(1, 0, 0),
                                 kernel(1, 120, 110), kernel(1, 130, 140), kernel(9, 150, 160)},
                                {{10, 0}}, &losses);
  EXPECT_EQ(losses.unfinished, 1u);
  EXPECT_EQ(losses.untimed, 2u);
  EXPECT_EQ(losses.uncorrelated, 1u);
  EXPECT_TRUE(losses.any());
  EXPECT_EQ(found.work[0].busy, 10u) << "only the one whose times make sense";
}

TEST(Attribution, LaunchesWithoutWorkAreFound) {
  EXPECT_EQ(missing_work({call(1), call(2), call(3, 17), kernel(2, 1, 2)}), 1u) << "cbid 17 launches nothing";
}

TEST(Attribution, NoRecordsNoOps) {
  EXPECT_TRUE(attributed({}, {}).work.empty());
  EXPECT_EQ(attributed({}, {{1, 0}}).work[0].busy, 0u);
}

}  // namespace
}  // namespace stowage::tracer::cupti
