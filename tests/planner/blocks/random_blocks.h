// Blocks of any shape, for tests.
#pragma once

#include <cstdint>
#include <random>

#include "planner/schedule/blocks/block.h"

namespace stowage::planner::schedule {

inline Block random_block(std::uint32_t seed, std::uint32_t items) {
  std::mt19937 random(seed);
  Block block;
  for (std::uint32_t i = 0; i < items; ++i) {
    BlockItem item;
    item.held = i;
    item.bytes = 1024 * (1 + random() % 64);
    item.border = i + 1 == items || random() % 8 == 0;
    item.stays = random() % 10 == 0;
    for (std::uint32_t op = 1 + random() % 3; op > 0; --op) {
      if (block.ops.empty() || random() % 3 != 0) {
        block.ops.push_back({static_cast<std::uint32_t>(block.ops.size()), 1000 * (1 + random() % 200)});
        item.ops.push_back(static_cast<std::uint32_t>(block.ops.size()) - 1);
      } else {
        item.ops.push_back(static_cast<std::uint32_t>(random() % block.ops.size()));  // shared with another
      }
    }
    if (i > 0 && random() % 2 == 0) item.from.push_back(static_cast<std::uint32_t>(random() % i));
    block.items.push_back(item);
  }
  return block;
}

}  // namespace stowage::planner::schedule
