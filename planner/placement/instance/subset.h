// Some pieces of an instance, with the rest left out or held where they are. A piece with gaps that is held
// holds what it needs when it needs it.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/placement/instance/instance.h"

namespace stowage::planner::placement {

/// True if the two live at one time.
constexpr bool meet(const Life& a, const Life& b) {
  if (a.begin < b.end && b.begin < a.end) return true;
  if (a.begin < b.wrapped_end || b.begin < a.wrapped_end) return true;
  return a.wrapped_end != 0 && b.wrapped_end != 0;
}

/// The largest number of bytes that divides every size, every alignment above 1 and every obstacle: heights
/// of placements without needless holes are multiples of it. At least 1.
[[nodiscard]] std::uint64_t unit_of(const Instance& instance);

/// The given pieces (indices, in this order) with the instance's obstacles; a bound on them is one on the
/// instance.
[[nodiscard]] Instance only(const Instance& instance, std::span<const std::uint32_t> pieces);

/// The given pieces with all others that meet one of them held at their `offsets`, as far as these and the
/// instance's obstacles lie below `ceiling` bytes. Nothing in it reaches above the ceiling.
[[nodiscard]] Instance around(const Instance& instance, std::span<const std::uint32_t> pieces,
                              std::span<const std::uint64_t> offsets, std::uint64_t ceiling);

}  // namespace stowage::planner::placement
