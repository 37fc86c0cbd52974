#include "plugin/cuda/device/joint_statistics.h"

#include <gtest/gtest.h>

#include <random>

namespace stowage::plugin {
namespace {

using Stats = c10::CachingDeviceAllocator::DeviceStats;
using c10::CachingAllocator::Stat;

constexpr std::int64_t kMiB = 1 << 20;

/// An upstream of one pool of large blocks.
struct FakeUpstream {
  Stats stats;
  void change(std::int64_t blocks, std::int64_t bytes) {
    for (const std::size_t pool : {0, 2}) {
      for (auto [stat, by] : {std::pair{&stats.allocation[pool], blocks},
                              {&stats.active[pool], blocks},
                              {&stats.allocated_bytes[pool], bytes},
                              {&stats.active_bytes[pool], bytes},
                              {&stats.requested_bytes[pool], bytes}})
        by > 0 ? stat->increase(static_cast<std::size_t>(by)) : stat->decrease(static_cast<std::size_t>(-by));
    }
  }
};

struct JointStatisticsTest : testing::Test {
  JointStatistics joint;
  FakeUpstream upstream;
  void note() { joint.note_upstream(upstream.stats, joint.next_ticket()); }
  Stats read() {
    Stats stats = upstream.stats;
    joint.add_to(stats, joint.next_ticket());
    return stats;
  }
};

TEST_F(JointStatisticsTest, AddsBlocksByPool) {
  joint.blocks().add(Bytes(2 * kMiB));
  joint.blocks().add(Bytes(600));
  joint.blocks().add(Bytes(600));
  joint.blocks().remove(Bytes(600));
  upstream.change(1, 4 * kMiB);
  const Stats stats = read();
  EXPECT_EQ(stats.allocated_bytes[0].current, 6 * kMiB + 1024);
  EXPECT_EQ(stats.allocated_bytes[1].current, 1024);
  EXPECT_EQ(stats.allocated_bytes[2].current, 6 * kMiB);
  EXPECT_EQ(stats.requested_bytes[0].current, 6 * kMiB + 600);
  EXPECT_EQ(stats.allocation[0].current, 3);
  EXPECT_EQ(stats.allocation[0].allocated, 4);
  EXPECT_EQ(stats.allocation[0].freed, 1);
}

TEST_F(JointStatisticsTest, PeaksAreOfBothAtOneMoment) {
  joint.on_arena(1, false);
  joint.on_mapped(8 * kMiB);
  upstream.change(1, 10 * kMiB);
  note();
  upstream.change(-1, -10 * kMiB);
  note();
  joint.blocks().add(Bytes(4 * kMiB));
  joint.blocks().remove(Bytes(4 * kMiB));
  EXPECT_EQ(read().allocated_bytes[0].peak, 10 * kMiB) << "never 14 MiB at once";
  upstream.stats.allocated_bytes[0].reset_peak();
  joint.reset_peak(upstream.stats, joint.next_ticket());
  EXPECT_EQ(read().allocated_bytes[0].peak, 0);
}

TEST_F(JointStatisticsTest, BlocksThatWaitForAStreamAreActiveAndNotAllocated) {
  joint.blocks().add(Bytes(kMiB));
  joint.blocks().part(Bytes(kMiB));
  joint.blocks().add(Bytes(512));
  Stats stats = read();
  EXPECT_EQ(stats.allocation[0].current, 1);
  EXPECT_EQ(stats.active[0].current, 2);
  EXPECT_EQ(stats.active_bytes[0].peak, kMiB + 512);
  EXPECT_EQ(stats.allocated_bytes[0].peak, kMiB);
  EXPECT_EQ(stats.requested_bytes[0].freed, 0);
  joint.blocks().complete(Bytes(kMiB));
  stats = read();
  EXPECT_EQ(stats.active[0].current, 1);
  EXPECT_EQ(stats.active_bytes[0].freed, kMiB);
}

TEST_F(JointStatisticsTest, ReservedCountsArenasAndNeverForgetsAPeak) {
  upstream.stats.reserved_bytes[0].increase(20 * kMiB);
  note();
  joint.on_arena(1, false);
  joint.on_mapped(8 * kMiB);
  EXPECT_EQ(read().reserved_bytes[0].current, 28 * kMiB);
  EXPECT_EQ(read().segment[2].current, 1);
  upstream.stats.reserved_bytes[0].decrease(20 * kMiB);
  EXPECT_EQ(read().reserved_bytes[0].peak, 28 * kMiB);
  joint.on_mapped(-8 * kMiB);
  joint.on_arena(-1, false);
  const Stats stats = read();
  EXPECT_EQ(stats.reserved_bytes[0].current, 0);
  EXPECT_EQ(stats.reserved_bytes[0].peak, 28 * kMiB);
  EXPECT_EQ(stats.reserved_bytes[0].allocated, stats.reserved_bytes[0].freed);
  joint.reset_accumulated();
  EXPECT_EQ(read().segment[0].allocated, 0);
}

TEST_F(JointStatisticsTest, MappedArenasAreNoSegmentsAsExpandableOnesOfNativesAreNot) {
  joint.on_arena(1, true);
  joint.on_mapped(8 * kMiB);
  EXPECT_TRUE(joint.is_counting());
  EXPECT_EQ(read().segment[0].current, 0);
  EXPECT_EQ(read().reserved_bytes[2].current, 8 * kMiB);
}

TEST_F(JointStatisticsTest, OlderFiguresNeverReplaceNewerOnes) {
  const std::uint64_t old_ticket = joint.next_ticket();
  const Stats old = upstream.stats;
  upstream.change(1, kMiB);
  note();
  joint.note_upstream(old, old_ticket);
  joint.blocks().add(Bytes(512));
  EXPECT_EQ(read().allocated_bytes[0].peak, kMiB + 512);
}

/// The same random changes in one allocator, and split between upstream and arenas.
TEST_F(JointStatisticsTest, AgreesWithOneAllocatorThatHasAll) {
  std::mt19937 random(7);
  FakeUpstream whole;
  std::vector<Bytes> arena, waiting, outside;
  const auto take = [&](std::vector<Bytes>& from) {
    const std::size_t at = random() % from.size();
    const Bytes taken = from[at];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
    return taken;
  };
  const auto by = [](Bytes bytes) { return static_cast<std::int64_t>(bytes.value()); };
  for (int step = 0; step < 5000; ++step) {
    const Bytes bytes((random() % 64 + 3000) * 512);
    switch (random() % 8) {
      case 0:
      case 1:
        joint.blocks().add(bytes), whole.change(1, by(bytes)), arena.push_back(bytes);
        break;
      case 2:
        if (const Bytes gone = arena.empty() ? Bytes(0) : take(arena); gone != Bytes(0))
          joint.blocks().remove(gone), whole.change(-1, -by(gone));
        break;
      case 3:
        upstream.change(1, by(bytes)), whole.change(1, by(bytes)), outside.push_back(bytes), note();
        break;
      case 4:
        if (const Bytes gone = outside.empty() ? Bytes(0) : take(outside); gone != Bytes(0))
          upstream.change(-1, -by(gone)), whole.change(-1, -by(gone)), note();
        break;
      case 5:
        if (!arena.empty()) waiting.push_back(take(arena)), joint.blocks().part(waiting.back());
        break;
      case 6:
        if (const Bytes gone = waiting.empty() ? Bytes(0) : take(waiting); gone != Bytes(0))
          joint.blocks().complete(gone), whole.change(-1, -by(gone));
        break;
      default:
        if (random() % 10 != 0) break;
        for (const std::size_t pool : {0, 2}) {
          for (FakeUpstream* one : {&upstream, &whole}) {
            one->stats.active[pool].reset_peak();
            one->stats.active_bytes[pool].reset_peak();
            one->stats.requested_bytes[pool].reset_peak();
          }
        }
        joint.reset_peak(upstream.stats, joint.next_ticket());
    }
    const Stats both = read();  // in `whole` a block that waits is still there: it shows what is active
    for (const std::size_t pool : {0, 2}) {
      ASSERT_EQ(both.active[pool].current, whole.stats.active[pool].current) << step;
      ASSERT_EQ(both.active[pool].peak, whole.stats.active[pool].peak) << step;
      ASSERT_EQ(both.active_bytes[pool].peak, whole.stats.active_bytes[pool].peak) << step;
      ASSERT_EQ(both.requested_bytes[pool].freed, whole.stats.requested_bytes[pool].freed) << step;
    }
  }
}

}  // namespace
}  // namespace stowage::plugin
