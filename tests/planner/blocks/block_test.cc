// Blocks of the forward pass: what is in them, and what their buffers are made from.
#include "planner/schedule/blocks/block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/planner/schedule_logs.h"

namespace stowage::planner::schedule {
namespace {

struct Cut {
  explicit Cut(const StepLog& log)
      : graph(*make_op_graph(log)),
        neediest(neediest_op(graph)),
        held(held_over(graph, neediest, 0)),
        blocks(cut_into_blocks(graph, held, neediest)) {}

  OpGraph graph;
  std::uint32_t neediest;
  std::vector<HeldBuffer> held;
  std::vector<Block> blocks;
};

std::vector<StepLog> jobs() {
  std::vector<StepLog> logs{chain(60, 8), transformer(12), unet(5)};
  for (std::uint64_t seed = 0; seed < 200; ++seed) logs.push_back(random_log(seed, 60));
  return logs;
}

TEST(Blocks, HaveEachHeldBufferOnceInOrder) {
  for (const StepLog& log : jobs()) {
    const Cut cut(log);
    std::uint32_t next = 0;
    for (const Block& block : cut.blocks) {
      EXPECT_LE(block.items.size(), kMostItems);
      for (const BlockItem& item : block.items) {
        EXPECT_EQ(item.held, next++);
        EXPECT_EQ(item.bytes, cut.graph.buffers[cut.held[item.held].buffer].bytes);
      }
    }
    EXPECT_EQ(next, cut.held.size());
  }
}

TEST(Blocks, OfAChainHaveOneLayerAsBorder) {
  const Cut cut(chain(60, 8));
  ASSERT_GE(cut.blocks.size(), 3u);
  for (std::size_t b = 0; b < cut.blocks.size(); ++b) {
    const auto borders = std::ranges::count_if(cut.blocks[b].items, &BlockItem::border);
    EXPECT_EQ(borders, b + 1 < cut.blocks.size() ? 1 : 0);
  }
}

TEST(Blocks, OfATransformerAreAlikeButForTheEnds) {
  const Cut cut(transformer(12));
  ASSERT_GE(cut.blocks.size(), 6u);
  const Block& second = cut.blocks[2];
  std::size_t alike = 0;
  for (const Block& block : cut.blocks) {
    const bool same =
        std::ranges::equal(block.items, second.items, [](const BlockItem& a, const BlockItem& b) {
          return a.bytes == b.bytes && a.border == b.border && a.ops == b.ops && a.from == b.from;
        });
    alike += same ? 1 : 0;
  }
  EXPECT_GE(alike, cut.blocks.size() / 3);
}

// With everything else in memory, the runtime runs exactly these ops again when an op wants the buffer.
TEST(Blocks, ClosuresAreWhatTheModelRunsAgain) {
  std::size_t compared = 0;
  for (const StepLog& log : jobs()) {
    const Cut cut(log);
    for (const Block& block : cut.blocks) {
      for (const BlockItem& item : block.items) {
        if (item.stays) continue;
        const std::uint32_t buffer = cut.held[item.held].buffer;
        Model model = model_before(cut.graph, cut.held[item.held].wanted);
        if (!model.evict(buffer)) continue;
        std::set<std::uint32_t> closure;
        for (const std::uint32_t op : item.ops) closure.insert(block.ops[op].op);
        const std::vector<std::uint32_t> steps = model.plan(buffer).steps;
        EXPECT_EQ(closure, std::set<std::uint32_t>(steps.begin(), steps.end()));
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 150u);
}

TEST(Blocks, OfAnIterationThatHoldsNothingAreNone) {
  LogBuilder log;
  log.op({log.before(4)}, 4);
  const Cut cut(log.build());
  EXPECT_TRUE(cut.blocks.empty());
}

}  // namespace
}  // namespace stowage::planner::schedule
