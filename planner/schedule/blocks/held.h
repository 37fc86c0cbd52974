// What an iteration holds over the op that needs most, as a rule the loss: what the forward pass keeps for
// the backward pass.
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/model/model.h"

namespace stowage::planner::schedule {

/// A buffer that is used before the op that needs most, and again behind it.
struct HeldBuffer {
  std::uint32_t buffer = 0;
  std::uint32_t made = 0;       ///< the first op that uses it
  std::uint32_t idle_from = 0;  ///< the op after the last one before
  std::uint32_t wanted = 0;     ///< the first one behind
};

/// The op that needs most bytes with nothing evicted; 0 if there is none.
[[nodiscard]] std::uint32_t neediest_op(const OpGraph& graph);

/// Those that may be evicted and have at least `smallest` bytes, in the order in which they are made.
[[nodiscard]] std::vector<HeldBuffer> held_over(const OpGraph& graph, std::uint32_t neediest,
                                                std::uint64_t smallest);

/// The iteration up to the beginning of `op`, with nothing evicted.
[[nodiscard]] Model model_before(const OpGraph& graph, std::uint32_t op);

}  // namespace stowage::planner::schedule
