// The cheapest contiguous window of memory that can be made free: Coop's sliding window (Zhang et al. 2023,
// "Coop: Memory is not a Commodity"), over pieces in order of address.
//
// Thread safety: none needed, a pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stowage::recompute {

/// A piece of memory that is free (cost 0) or can be made free at `cost`. What lies between pieces cannot.
struct Piece {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  double cost = 0;
  bool free = false;
};

/// Pieces [first, last] in order of address that together are contiguous and long enough.
struct Window {
  std::size_t first = 0;
  std::size_t last = 0;
  double cost = 0;
};

/// The window of at least `bytes` with the least sum of costs; nullopt if there is none. Requires: pieces
/// ascend and do not overlap. O(pieces).
std::optional<Window> cheapest_window(const std::vector<Piece>& pieces, std::uint64_t bytes);

}  // namespace stowage::recompute
