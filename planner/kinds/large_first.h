// Large buffers placed before small ones.
//
// The joint problem of many kinds has thousands of small buffers between a few hundred large ones, and these
// are what the height depends on: layers of a network have few sizes, and a small buffer between two of them
// makes a hole that none of them fits. The large ones alone are a much smaller problem, whose bound is often
// reached. The small ones then get what is left between and above them.
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/placement/problem/problem.h"

namespace stowage::planner {

struct LargePart {
  placement::Problem problem;
  std::vector<std::uint32_t> items;  ///< those of the whole that it has, ascending
  Bytes bound{0};                    ///< no placement of it is lower
  Bytes bound_of_rest{0};
};

/// The part of `problem` that has what is fixed and the buffers from some size on. The largest such size (a
/// power of two) at which both parts, one above the other, may be hardly higher than `bound`; nothing if
/// there is none that parts them. O(n log n) for each of 30 sizes at most.
[[nodiscard]] std::optional<LargePart> large_part(const placement::Problem& problem, Bytes bound);

}  // namespace stowage::planner
