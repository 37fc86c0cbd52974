// A placement for a problem that has changed a little, made from the placement of the problem before.
//
// Why: a shape bucket, a budget or a few more buffers change a trace here and there. What has not changed
// keeps its offset, so the work is that of the change; and where CUDA graphs or registrations hold addresses,
// offsets must not move at all.
//
// In steps, each only if those before ended too high: (1) all old offsets that do not collide are kept and
// the rest is placed among them; (2) what is alive where step 1 ended too high is freed too, if that is
// little, and where nothing must stay all is lifted in its old order (lift.h), if that ends low enough; (3)
// everything but what must stay is placed again. Where more is new than is likely to find room, lifting comes
// first. The lowest result wins, of equals the one found earlier.
//
// Thread safety: reentrant. Deterministic as place_greedily is.
#pragma once

#include <cstddef>
#include <vector>

#include "planner/placement/carry_over.h"
#include "planner/placement/greedy/greedy.h"

namespace stowage::planner::placement {

struct ReplanOptions {
  GreedyOptions greedy;
  /// By item of the new problem: true where an old offset must stay. Shorter: false for the rest.
  std::vector<bool> keep_stable;
  /// A height up to this share above the bound ends the search, as does the old height.
  double tolerance = 0.001;
  /// No step after this one, and no lifting before step 3: what need not move does not.
  int last_step = 3;
};

struct Replanned {
  Solution solution;
  std::size_t kept = 0;   ///< items at their old offset
  std::size_t moved = 0;  ///< items that had an old offset and are elsewhere
  int step = 0;           ///< 1, 2 or 3: which one made it
};

/// Places all items. `old` is by item of the problem, an offset that it had, or none; `grown` may be empty.
/// `old_height` is how high the older placement was; 0: not known. Errors: those of place_greedily, and
/// kInvalidArgument if offsets that must stay overlap or are misaligned. The result is to be checked with
/// validator.h before it is used.
Result<Replanned> replan(const Problem& problem, const Carried& old, Bytes old_height,
                         const ReplanOptions& options);

}  // namespace stowage::planner::placement
