// Pieces that live at the same times, taken for one: they lie one above the other.
//
// Why: in a training step every second buffer or so meets just those that some other one meets too. Together
// they are fewer pieces to place and a smaller search. It is a restriction: the least height may need them
// apart, so what is found of the glued instance is a placement of the whole, but a proof about it does not
// hold for the whole.
//
// Two pieces count as living at the same times if they span the same maximal cliques, which is all that
// decides whom they meet. What wraps, has gaps, or is no multiple of its alignment is left alone.
//
// Thread safety: pure functions. Deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/placement/instance/draft.h"
#include "planner/placement/instance/instance.h"

namespace stowage::planner::placement {

struct Glued {
  Instance instance;                                ///< with its own bound; obstacles are the whole's
  std::vector<std::vector<std::uint32_t>> members;  ///< by glued piece: those of the whole, from below
};

/// Near O(n log n). The goal is the whole's. After a stop the result is not to be used.
[[nodiscard]] Glued glue(const Instance& whole, const Limits& limits = {});

/// The same placement of the whole. Requires: `draft` is a complete one of `glued`, made from `whole`.
[[nodiscard]] Draft unglue(const Instance& whole, const Glued& glued, const Draft& draft);

}  // namespace stowage::planner::placement
