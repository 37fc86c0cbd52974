#include "plugin/cuda/arena_ledger.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace stowage::plugin {
namespace {

constexpr Bytes kMiB{1u << 20};
char* const kBase = reinterpret_cast<char*>(0x700000000000);

TEST(ArenaLedger, KeepsEveryLiveBlockUntilItsFree) {
  ArenaLedger ledger(kBase, Bytes{64 * kMiB.value()});
  ledger.note_allocated(kBase + 512, Bytes{700}, StreamId{3});
  ledger.note_allocated(kBase + 4096, Bytes{512}, StreamId{0});
  const std::vector<ArenaBlock> expected{{Offset{512}, Bytes{1024}, Bytes{700}, StreamId{3}},
                                         {Offset{4096}, Bytes{512}, Bytes{512}, StreamId{0}}};
  EXPECT_EQ(ledger.live_blocks(kMiB), expected);
  EXPECT_EQ(ledger.note_freed(kBase + 512), expected[0]);
  EXPECT_EQ(ledger.live_blocks(kMiB), std::vector{expected[1]});
  EXPECT_EQ(ledger.note_freed(kBase + 512).rounded, Bytes{0}) << "a second free finds nothing";
  EXPECT_EQ(ledger.block_at(kBase + 4096), expected[1]);
}

TEST(ArenaLedger, CoversItsRangeOnly) {
  const ArenaLedger ledger(kBase, kMiB);
  EXPECT_TRUE(ledger.covers(kBase));
  EXPECT_TRUE(ledger.covers(kBase + kMiB.value() - 1));
  EXPECT_FALSE(ledger.covers(kBase + kMiB.value()));
  EXPECT_FALSE(ledger.covers(kBase - 1));
  EXPECT_FALSE(ledger.covers(nullptr));
}

TEST(ArenaLedger, HoldsBlocksOfManyGibibytes) {
  ArenaLedger ledger(kBase, Bytes{std::uint64_t{200} << 30});
  const Bytes huge{(std::uint64_t{100} << 30) + 1};
  ledger.note_allocated(kBase, huge, StreamId{1023});
  EXPECT_EQ(ledger.block_at(kBase).requested, huge);
  EXPECT_EQ(ledger.block_at(kBase).stream, StreamId{1023});
  ledger.retire();
  EXPECT_EQ(ledger.block_at(kBase).rounded, Bytes{0});
}

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
}  // namespace stowage::plugin
