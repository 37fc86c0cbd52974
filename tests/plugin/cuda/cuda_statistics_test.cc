#include "plugin/cuda/cuda_statistics.h"

#include <gtest/gtest.h>

namespace stowage::plugin {
namespace {

using c10::CachingDeviceAllocator::DeviceStats;

constexpr std::uint64_t kMiB = 1u << 20;

DeviceStats upstream() {
  DeviceStats stats;
  stats.allocated_bytes[0] = {100, 900, 1000, 900};
  stats.reserved_bytes[0] = {200, 5000, 6000, 5800};
  stats.allocation[0] = {2, 8, 12, 10};
  stats.segment[0] = {1, 4, 5, 4};
  return stats;
}

ArenaFigures figures() {
  allocator::ArenaCounters counters;
  counters.add(Bytes{2 * kMiB});
  counters.add(Bytes{600});
  counters.add(Bytes{600});
  counters.remove(Bytes{600});
  return {counters.use(), Bytes{8 * kMiB}, Bytes{2 * kMiB + 1024}, Bytes{3 * kMiB}};
}

TEST(CudaStatistics, AddsTheArenaToCurrentValuesAndSums) {
  DeviceStats stats = upstream();
  add_arena(stats, figures());
  EXPECT_EQ(stats.allocated_bytes[0].current, static_cast<std::int64_t>(100 + 2 * kMiB + 1024));
  EXPECT_EQ(stats.allocated_bytes[1].current, 1024);
  EXPECT_EQ(stats.allocated_bytes[2].current, static_cast<std::int64_t>(2 * kMiB));
  EXPECT_EQ(stats.requested_bytes[0].current, static_cast<std::int64_t>(2 * kMiB + 600));
  EXPECT_EQ(stats.allocation[0].current, 4);
  EXPECT_EQ(stats.allocation[0].allocated, 15);
  EXPECT_EQ(stats.allocation[0].freed, 11);
  EXPECT_EQ(stats.reserved_bytes[0].current, static_cast<std::int64_t>(200 + 8 * kMiB));
  EXPECT_EQ(stats.segment[0].current, 2);
  EXPECT_EQ(stats.inactive_split_bytes[0].current, 0);
}

TEST(CudaStatistics, PeakOfBytesIsThatOfTheSumNotTheSumOfPeaks) {
  DeviceStats stats = upstream();
  add_arena(stats, figures());
  EXPECT_EQ(stats.allocated_bytes[0].peak, static_cast<std::int64_t>(3 * kMiB))
      << "as the session measured it";
  stats = upstream();
  stats.reserved_bytes[0].peak = static_cast<std::int64_t>(20 * kMiB);
  add_arena(stats, figures());
  EXPECT_EQ(stats.reserved_bytes[0].peak, static_cast<std::int64_t>(20 * kMiB)) << "before the switch";
}

TEST(CudaStatistics, BlocksWaitingForAStreamAreActiveAndNotAllocated) {
  DeviceStats stats;
  ArenaFigures arena = figures();
  arena.active = Bytes{2 * kMiB + 1024 + 4096};
  add_arena(stats, arena);
  EXPECT_EQ(stats.active_bytes[0].current - stats.allocated_bytes[0].current, 4096);
}

TEST(CudaStatistics, WithoutAnArenaNothingChanges) {
  DeviceStats stats = upstream();
  ArenaFigures none;
  none.sum_peak = Bytes{123456789};
  add_arena(stats, none);
  EXPECT_EQ(stats.allocated_bytes[0].peak, 900);
  EXPECT_EQ(stats.segment[0].current, 1);
}

TEST(CudaSnapshot, BlocksAndGapsTileTheArena) {
  void* base = reinterpret_cast<void*>(0x700000000000);
  const std::vector<ArenaBlock> blocks{{Offset{512}, Bytes{1024}, Bytes{700}, StreamId{0}},
                                       {Offset{1536}, Bytes{512}, Bytes{512}, StreamId{1}}};
  const auto segment = arena_segment(1, base, Bytes{4096}, blocks, true);
  EXPECT_EQ(segment.address, 0x700000000000u);
  EXPECT_EQ(segment.total_size, 4096u);
  EXPECT_EQ(segment.allocated_size, 1536u);
  EXPECT_EQ(segment.requested_size, 1212u);
  EXPECT_TRUE(segment.is_large && segment.is_expandable);
  ASSERT_EQ(segment.blocks.size(), 4u);
  std::size_t sum = 0;
  for (const auto& block : segment.blocks) sum += block.size;
  EXPECT_EQ(sum, 4096u);
  EXPECT_FALSE(segment.blocks[0].allocated);
  EXPECT_TRUE(segment.blocks[1].allocated && segment.blocks[1].active);
  EXPECT_EQ(segment.blocks[1].requested_size, 700u);
  EXPECT_FALSE(segment.blocks[3].active);
}

}  // namespace
}  // namespace stowage::plugin
