// The result of a technique: the offsets of an instance's pieces.
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

/// The work ran out: clears the offsets. Returns false, for the caller to return.
inline bool ran_out(Draft& draft) {
  draft.offsets.clear();
  return false;
}

}  // namespace stowage::planner::placement
