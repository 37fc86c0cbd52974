// The ways to keep a block's buffers that are worth looking at: the least recomputation for each of a few
// amounts of memory.
//
// What is kept beside the border, and with it the closure of ops that run again for the rest, is chosen by a
// greedy choice with repair, and then by a mixed-integer program that has to find something cheaper. After
// Rockmate (Zhao et al., ICML 2023). Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/blocks/block.h"

namespace stowage::planner::schedule {

struct BlockOption {
  std::vector<bool> kept;     ///< by item; the border is kept
  std::uint64_t dropped = 0;  ///< bytes
  std::uint64_t own_ns = 0;   ///< ops that run again for what is dropped
  std::uint64_t path_ns =
      0;  ///< those for the border, if it is dropped, too, and nothing of the rest is there
};

/// Rising in `dropped` and in `own_ns`; the first one keeps all, the last one nothing that may be dropped.
[[nodiscard]] std::vector<BlockOption> options_of(const Block& block);

/// `kept`, with what it comes to.
[[nodiscard]] BlockOption option_with(const Block& block, std::vector<bool> kept);

}  // namespace stowage::planner::schedule
