// The options of a chain's blocks, those of alike blocks looked for once: the layers of a network, as a rule.
//
// Blocks are alike if they have the same items, sizes, closures and borders; their ops may take different
// times. Thread safety: none. Deterministic in the order of calls.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "planner/schedule/blocks/options.h"

namespace stowage::planner::schedule {

class OptionBook {
 public:
  /// What a block alike has chosen to keep, with this block's times.
  [[nodiscard]] std::vector<BlockOption> options_for(const Block& block);
  /// Blocks of which none is like another.
  [[nodiscard]] std::size_t kinds() const { return kept_.size(); }

 private:
  std::map<std::vector<std::uint64_t>, std::vector<std::vector<bool>>> kept_;
};

}  // namespace stowage::planner::schedule
