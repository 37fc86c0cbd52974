#include "allocator/model/caching_model.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace stowage::allocator {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr StreamId kDefault{0};

Bytes mib(std::uint64_t count) { return Bytes(count * kMiB); }

TEST(CachingModel, SmallRequestsShareATwoMebibyteSegment) {
  CachingModel model(CachingModel::Segments::kFixed);
  for (int i = 0; i < 4; ++i) model.allocate(Bytes(512 << 10), kDefault);
  EXPECT_EQ(model.reserved(), mib(2));
  model.allocate(kGranule, kDefault);
  EXPECT_EQ(model.reserved(), mib(4));
}

TEST(CachingModel, MiddlingRequestsComeFromTwentyMebibyteSegments) {
  CachingModel model(CachingModel::Segments::kFixed);
  model.allocate(mib(5), kDefault);
  EXPECT_EQ(model.reserved(), mib(20));
  model.allocate(mib(9), kDefault);
  EXPECT_EQ(model.reserved(), mib(20));
}

TEST(CachingModel, LargeRequestsAreRoundedToTwoMebibytes) {
  CachingModel model(CachingModel::Segments::kFixed);
  model.allocate(Bytes(33 * kMiB), kDefault);
  EXPECT_EQ(model.reserved(), mib(34));
}

TEST(CachingModel, ALargeRemainderOfOneMebibyteStaysWithItsBlock) {
  CachingModel model(CachingModel::Segments::kFixed);
  const auto first = model.allocate(mib(20), kDefault);
  model.free(first);
  EXPECT_EQ(model.allocate(mib(19), kDefault), first);
  model.allocate(Bytes(kMiB + 512), kDefault);  // the 1 MiB that is left over cannot serve it
  EXPECT_EQ(model.reserved(), mib(40));
}

TEST(CachingModel, FreedNeighboursMergeAndServeALargerRequest) {
  CachingModel model(CachingModel::Segments::kFixed);
  const auto first = model.allocate(mib(10), kDefault);
  model.free(first);
  const auto low = model.allocate(mib(4), kDefault);
  const auto high = model.allocate(mib(4), kDefault);
  model.free(low);
  model.free(high);
  EXPECT_EQ(model.allocate(mib(10), kDefault), low);
  EXPECT_EQ(model.reserved(), mib(10));
}

TEST(CachingModel, AFreedBlockIsFoundThoughTheSegmentBeforeItIsFreeToo) {
  CachingModel model(CachingModel::Segments::kFixed);
  const auto first = model.allocate(mib(30), kDefault);
  const auto second = model.allocate(mib(40), kDefault);
  model.free(first);
  model.free(second);
  EXPECT_EQ(model.allocate(mib(40), kDefault), second);
  EXPECT_EQ(model.reserved(), mib(70));
}

TEST(CachingModel, StreamsDoNotShareBlocks) {
  CachingModel model(CachingModel::Segments::kFixed);
  model.free(model.allocate(mib(30), kDefault));
  model.allocate(mib(30), StreamId(1));
  EXPECT_EQ(model.reserved(), mib(60));
}

TEST(CachingModel, ExpandableRangesGrowByTheMissingPagesOnly) {
  CachingModel model(CachingModel::Segments::kExpandable);
  model.free(model.allocate(mib(40), kDefault));
  model.allocate(mib(50), kDefault);
  EXPECT_EQ(model.reserved(), mib(60));
  CachingModel fixed(CachingModel::Segments::kFixed);
  fixed.free(fixed.allocate(mib(40), kDefault));
  fixed.allocate(mib(50), kDefault);
  EXPECT_EQ(fixed.reserved(), mib(90));
}

TEST(CachingModel, TheGrowingEndOfAnExpandableRangeIsTakenLast) {
  CachingModel model(CachingModel::Segments::kExpandable);
  const auto low = model.allocate(mib(60), kDefault);
  model.allocate(mib(20), kDefault);
  const auto end = model.allocate(mib(40), kDefault);
  model.free(low);
  model.free(end);
  EXPECT_EQ(model.allocate(mib(40), kDefault), low)
      << "the block of 40 MiB at the end fits best, but may grow";
}

class CachingModelProperty : public testing::TestWithParam<CachingModel::Segments> {};

TEST_P(CachingModelProperty, LiveBlocksNeverOverlap) {
  CachingModel model(GetParam());
  std::mt19937_64 random(7);
  std::map<std::uint64_t, std::uint64_t> live;  // address → bytes
  std::uint64_t live_bytes = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (!live.empty() && random() % 2 == 0) {
      auto victim = std::next(live.begin(), static_cast<long>(random() % live.size()));
      model.free(victim->first);
      live_bytes -= victim->second;
      live.erase(victim);
      continue;
    }
    const Bytes bytes = round_up(Bytes(1 + random() % (1u << (9 + random() % 17))));
    const auto address = model.allocate(bytes, StreamId(static_cast<std::uint32_t>(random() % 2)));
    auto [place, added] = live.emplace(address, bytes.value());
    ASSERT_TRUE(added) << "step " << step;
    live_bytes += bytes.value();
    if (place != live.begin()) {
      ASSERT_LE(std::prev(place)->first + std::prev(place)->second, address) << "step " << step;
    }
    if (std::next(place) != live.end()) {
      ASSERT_LE(address + bytes.value(), std::next(place)->first) << "step " << step;
    }
    ASSERT_GE(model.reserved().value(), live_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(BothKinds, CachingModelProperty,
                         testing::Values(CachingModel::Segments::kFixed,
                                         CachingModel::Segments::kExpandable));

}  // namespace
}  // namespace stowage::allocator
