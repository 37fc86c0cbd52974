// Freed blocks kept under a budget: the next request of their size gets them, the oldest goes first.
#include "plugin/cpu/block_cache.h"

#include <gtest/gtest.h>

#include <array>

namespace stowage::plugin {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(BlockCache, GivesABlockThatIsHardlyLargerAndTheOldestFirst) {
  BlockCache cache;
  std::array<char, 4> memory{};
  EXPECT_FALSE(cache.keep(memory.data(), 1000, 1000));  // small ones stay in the heap
  EXPECT_TRUE(cache.keep(&memory[1], kMiB, kMiB + 4096));
  EXPECT_TRUE(cache.keep(&memory[2], 2 * kMiB, 2 * kMiB));
  EXPECT_TRUE(cache.keep(&memory[3], kMiB, kMiB));
  EXPECT_EQ(cache.counted(), Bytes(4 * kMiB + 4096));
  EXPECT_EQ(cache.take(kMiB + 1), nullptr);
  EXPECT_EQ(cache.take(kMiB / 2), nullptr);
  EXPECT_EQ(cache.take(2 * kMiB - 4096), &memory[2]);
  EXPECT_EQ(cache.oldest(), &memory[1]);
  EXPECT_EQ(cache.take(kMiB), &memory[3]);
  EXPECT_EQ(cache.oldest(), nullptr);
  EXPECT_EQ(cache.counted(), Bytes(0));
}

TEST(BlockCache, KeepsNoMoreThanItWasMadeFor) {
  BlockCache cache;
  char memory = 0;
  std::size_t kept = 0;
  while (cache.keep(&memory, kMiB, kMiB)) ++kept;
  EXPECT_GT(kept, 100u);
  EXPECT_EQ(cache.counted(), Bytes(kept * kMiB));
}

}  // namespace
}  // namespace stowage::plugin
