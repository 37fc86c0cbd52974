#include "plugin/cuda/adaptor/arena_snapshot.h"

#include <gtest/gtest.h>

namespace stowage::plugin {
namespace {

TEST(CudaSnapshot, BlocksAndGapsTileTheArena) {
  void* base = reinterpret_cast<void*>(0x700000000000);
  const std::vector<ArenaBlock> blocks{{Offset{512}, Bytes{1024}, Bytes{700}, StreamId{0}},
                                       {Offset{1536}, Bytes{512}, Bytes{512}, StreamId{1}}};
  const auto segment = arena_segment(1, base, Bytes{4096}, blocks, true, [](const void*) { return nullptr; });
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

TEST(CudaSnapshot, BlocksThatWaitForAStreamAreActiveAndNotAllocated) {
  const std::vector<ArenaBlock> blocks{{Offset{0}, Bytes{1024}, Bytes{700}, StreamId{0}, true}};
  const auto segment =
      arena_segment(0, nullptr, Bytes{1024}, blocks, true, [](const void*) { return nullptr; });
  EXPECT_TRUE(segment.blocks[0].active && !segment.blocks[0].allocated);
  EXPECT_EQ(segment.active_size, 1024u);
  EXPECT_EQ(segment.allocated_size, 0u);
}

}  // namespace
}  // namespace stowage::plugin
