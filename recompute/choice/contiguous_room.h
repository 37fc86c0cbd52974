// The cheapest contiguous room that can be made free: Coop's sliding window (Zhang et al. 2023,
// "Coop: Memory is not a Commodity"), over stretches in order of address.
//
// Thread safety: none needed, a pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stowage::recompute {

/// A stretch of memory that is free (cost 0) or can be made free at `cost`. What lies between stretches
/// cannot.
struct Stretch {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  double cost = 0;
  bool free = false;
};

/// Stretches [first, last] in order of address that together are contiguous and long enough.
struct ContiguousRoom {
  std::size_t first = 0;
  std::size_t last = 0;
  double cost = 0;
};

/// The room of at least `bytes` with the least sum of costs; nullopt if there is none. Requires: stretches
/// ascend and do not overlap. O(stretches).
std::optional<ContiguousRoom> cheapest_room(const std::vector<Stretch>& stretches, std::uint64_t bytes);

}  // namespace stowage::recompute
