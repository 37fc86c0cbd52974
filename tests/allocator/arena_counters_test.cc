#include "allocator/layout/arena_counters.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace stowage::allocator {
namespace {

constexpr Bytes kMiB{1u << 20};

TEST(ArenaCounters, SplitsByPoolAndKeepsPeaksOfTheSum) {
  ArenaCounters counters;
  counters.add(kMiB);                     // small: 1 MiB is the pool's limit
  counters.add(Bytes{kMiB.value() + 1});  // large
  counters.remove(kMiB);
  counters.add(Bytes{100});
  const ArenaUse use = counters.use();
  EXPECT_EQ(use.blocks[0].current, 2);
  EXPECT_EQ(use.blocks[1].current, 1);
  EXPECT_EQ(use.blocks[2].current, 1);
  EXPECT_EQ(use.blocks[0].allocated, 3);
  EXPECT_EQ(use.blocks[0].freed, 1);
  EXPECT_EQ(use.requested_bytes[0].current, 100 + (1 << 20) + 1);
  EXPECT_EQ(use.rounded_bytes[0].current, 512 + (1 << 20) + 512);
  EXPECT_EQ(use.rounded_bytes[0].peak, (2 << 20) + 512);
  EXPECT_EQ(use.rounded_bytes[1].peak, 1 << 20);
}

TEST(ArenaCounters, ResetsPeaksAndSumsButNotWhatIsLive) {
  ArenaCounters counters;
  counters.add(Bytes{1000});
  counters.add(Bytes{2000});
  counters.remove(Bytes{2000});
  counters.reset_peak();
  counters.reset_accumulated();
  const Tally bytes = counters.use().requested_bytes[0];
  EXPECT_EQ(bytes.current, 1000);
  EXPECT_EQ(bytes.peak, 1000);
  EXPECT_EQ(bytes.allocated, 0);
  EXPECT_EQ(bytes.freed, 0);
  counters.remove(Bytes{1000});
  EXPECT_EQ(counters.use().requested_bytes[0].freed, 1000);
}

TEST(ArenaCounters, ThreadsThatHoldTheLockLoseNothing) {
  ArenaCounters counters;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        const std::lock_guard guard(counters.lock());
        counters.add(Bytes{1024});
        if (i % 2 == 0) counters.remove(Bytes{1024});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counters.use().blocks[0].current, 40000);
  EXPECT_EQ(counters.use().blocks[0].allocated, 80000);
  EXPECT_EQ(counters.use().rounded_bytes[0].current, 40000 * 1024);
}

}  // namespace
}  // namespace stowage::allocator
