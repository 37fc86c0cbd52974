// Chooses an option for each block of a chain, by dynamic programming, so that the iteration fits and least
// runs again.
//
// From the first block to the last one it counts the bytes that are dropped. Before a block's forward ops
// run, and while its backward ops do, enough must be, of the blocks before it. A block may drop its border,
// too: then the next block is made again from the border before, and this block's border is held meanwhile.
// That is Rotor's programme (Beaumont et al., "Optimal checkpointing for heterogeneous chains", 2019) for two
// blocks in a row, with several options a block as in Rockmate: longer runs were no better on any model that
// was tried. What a later block starts from is border, however far away it is. Thread safety: pure.
// Deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/schedule/blocks/options.h"

namespace stowage::planner::schedule {

/// What a block's place in the iteration asks for, in bytes that must be dropped by then.
struct BlockNeed {
  std::uint64_t forward = 0;   ///< while its forward ops run, of the blocks before
  std::uint64_t backward = 0;  ///< while its backward ops run, of those and, in part, of its own
};

struct ChainProblem {
  std::vector<std::vector<BlockOption>> options;  ///< by block; see options_of()
  std::vector<std::uint64_t> border;              ///< by block, bytes that may be dropped with it
  std::vector<BlockNeed> needs;                   ///< by block
  std::uint64_t dropped = 0;                      ///< bytes that must be in all, over the op that needs most
  double own_part = 0;  ///< of a block's own dropped bytes that counts in its backward ops
};

struct Choice {
  std::uint32_t option = 0;
  bool keeps_border = true;
};

/// By block; empty if nothing fits. Bytes are counted in 1/512 of all, rounded down.
[[nodiscard]] std::optional<std::vector<Choice>> choose_options(const ChainProblem& problem);

}  // namespace stowage::planner::schedule
