// The forward pass in blocks of layers, each a small problem of its own: which of its buffers to keep for the
// backward pass, and which ops run again for the others.
//
// What a held buffer is made from is traced down to other held buffers, over values that are dead when it is
// wanted: the ops on the way are its closure. A cut between two blocks goes where least bytes are read on
// both sides. Buffers that a later block's closures start from are a block's border. Thread safety: pure.
// Deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/blocks/held.h"

namespace stowage::planner::schedule {

/// One op of a closure.
struct BlockOp {
  std::uint32_t op = 0;
  std::uint64_t cost_ns = 0;
};

/// One held buffer of a block.
struct BlockItem {
  std::uint32_t held = 0;  ///< index of the held buffers
  std::uint64_t bytes = 0;
  bool border = false;
  bool stays = false;               ///< it cannot be made again from what is there
  std::vector<std::uint32_t> ops;   ///< indices of the block's ops: its closure
  std::vector<std::uint32_t> from;  ///< indices of the block's items that its closure starts from
  /// Whatever becomes of the border.
  [[nodiscard]] bool may_be_dropped() const { return !border && !stays; }
};

struct Block {
  std::vector<BlockItem> items;  ///< in the order in which they are made
  std::vector<BlockOp> ops;      ///< of all closures, each once
};

inline constexpr std::size_t kMostItems = 24;

/// Each held buffer is in one block. A block has `kMostItems` items at most.
[[nodiscard]] std::vector<Block> cut_into_blocks(const OpGraph& graph, const std::vector<HeldBuffer>& held,
                                                 std::uint32_t neediest);

}  // namespace stowage::planner::schedule
