// The options of a block, against all subsets of its buffers.
#include "planner/schedule/blocks/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "planner/schedule/blocks/option_book.h"
#include "planner/schedule/blocks/option_program.h"
#include "tests/planner/blocks/random_blocks.h"

namespace stowage::planner::schedule {
namespace {

// The least time for which at least so many bytes are dropped, by trying them all.
std::uint64_t least_ns(const Block& block, std::uint64_t bytes) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (std::uint32_t mask = 0; mask < (1u << block.items.size()); ++mask) {
    std::vector<bool> kept(block.items.size(), true);
    bool may = true;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      kept[i] = (mask >> i & 1u) == 0;
      may = may && (kept[i] || block.items[i].may_be_dropped());
    }
    if (!may) continue;
    const BlockOption option = option_with(block, kept);
    if (option.dropped >= bytes) least = std::min(least, option.own_ns);
  }
  return least;
}

TEST(BlockOptions, AreTheCheapestForWhatTheyDrop) {
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    const Block block = random_block(seed, 3 + seed % 8);
    const std::vector<BlockOption> options = options_of(block);
    ASSERT_FALSE(options.empty());
    EXPECT_EQ(options.front().dropped, 0u);
    EXPECT_EQ(options.front().own_ns, 0u);
    for (std::size_t i = 0; i < options.size(); ++i) {
      EXPECT_EQ(options[i].own_ns, least_ns(block, options[i].dropped))
          << "seed " << seed << ", option " << i;
      if (i == 0) continue;
      EXPECT_GT(options[i].dropped, options[i - 1].dropped);
      EXPECT_GT(options[i].own_ns, options[i - 1].own_ns);
    }
  }
}

TEST(BlockOptions, TheLastOneKeepsOnlyWhatMustBe) {
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    const Block block = random_block(seed, 24);
    std::uint64_t all = 0;
    for (const BlockItem& item : block.items) all += item.may_be_dropped() ? item.bytes : 0;
    EXPECT_EQ(options_of(block).back().dropped, all) << seed;
  }
}

TEST(BlockOptions, WhatABorderIsMadeFromIsMadeWithIt) {
  Block block;
  block.ops = {{0, 5000}, {1, 7000}, {2, 11000}};
  block.items = {
      {0, 1024, false, false, {0}, {}}, {1, 1024, false, false, {1}, {0}}, {2, 1024, true, false, {2}, {1}}};
  EXPECT_EQ(option_with(block, {true, true, true}).path_ns, 11000u);
  EXPECT_EQ(option_with(block, {true, false, true}).path_ns, 18000u);
  EXPECT_EQ(option_with(block, {false, false, true}).path_ns, 23000u);
  EXPECT_EQ(option_with(block, {false, true, true}).path_ns, 11000u) << "its own input is there";
  EXPECT_EQ(option_with(block, {false, false, true}).own_ns, 12000u);
}

// Greedily the cheap small one goes first, and then the large one, too.
TEST(OptionProgram, FindsWhatAGreedyChoiceDoesNot) {
  Block block;
  block.ops = {{0, 10'000}, {1, 15'000}, {2, 100'000}};
  block.items = {{0, 11 * 1024, false, false, {0}, {}},
                 {1, 10 * 1024, false, false, {1}, {}},
                 {2, 90 * 1024, false, false, {2}, {}}};
  const std::optional<std::vector<bool>> found = cheaper_choice(block, 20 * 1024, 110'000);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (std::vector<bool>{false, false, true}));
  EXPECT_FALSE(cheaper_choice(block, 20 * 1024, 20'000)) << "nothing is that cheap";
  EXPECT_FALSE(cheaper_choice(block, 200 * 1024, 1'000'000)) << "there is not so much";
}

TEST(OptionBook, LooksForTheOptionsOfAlikeBlocksOnce) {
  OptionBook book;
  const Block block = random_block(3, 12);
  Block slower = block;
  for (BlockOp& op : slower.ops) op.cost_ns *= 2;
  const std::vector<BlockOption> options = book.options_for(block), others = book.options_for(slower);
  EXPECT_EQ(book.kinds(), 1u);
  ASSERT_EQ(options.size(), others.size());
  for (std::size_t i = 0; i < options.size(); ++i) {
    EXPECT_EQ(options[i].kept, others[i].kept);
    EXPECT_EQ(2 * options[i].own_ns, others[i].own_ns) << "with its own times";
  }
  EXPECT_NE(book.options_for(random_block(4, 12)).size(), 0u);
  EXPECT_EQ(book.kinds(), 2u);
}

}  // namespace
}  // namespace stowage::planner::schedule
