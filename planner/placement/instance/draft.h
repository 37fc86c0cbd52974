// What a technique comes to: where the pieces of an instance lie.
//
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <vector>

namespace stowage::planner::placement {

/// Offsets by piece, in bytes. Empty offsets: the work ran out.
struct Draft {
  std::vector<std::uint64_t> offsets;
  std::uint64_t height = 0;
};

/// The work ran out: there are no offsets. False, for the caller to return.
inline bool ran_out(Draft& draft) {
  draft.offsets.clear();
  return false;
}

}  // namespace stowage::planner::placement
