// The height of what is placed, over time, as plateaus: the lowest one is where the next piece goes.
//
// Thread safety: one thread. Invariants: plateaus cover [0, ranks) and neighbours differ in height, on a
// circle except for the last and the first, which lowest() joins.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "planner/placement/instance.h"

namespace stowage::planner::placement {

/// A stretch of time on one height.
struct Plateau {
  Life span;
  std::uint64_t height = 0;  ///< bytes
  std::uint64_t next = 0;    ///< height of its lower neighbour; UINT64_MAX when it covers all time
};

class Terrain {
 public:
  /// One plateau. `circular`: rank 0 follows the last one. Requires: ranks > 0.
  Terrain(std::uint32_t ranks, std::uint64_t floor, bool circular);

  /// The lowest plateau, of equals the earliest.
  [[nodiscard]] Plateau lowest();
  /// Sets the height during `span`. Requires: it is not lower than what was there, and heights there are
  /// equal.
  void raise(const Life& span, std::uint64_t height);

 private:
  using Map = std::map<std::uint32_t, std::uint64_t>;  ///< begin → height
  struct Known {
    std::uint64_t height;
    std::uint32_t begin;
    friend auto operator<=>(const Known&, const Known&) = default;
  };

  void raise_span(std::uint32_t begin, std::uint32_t end, std::uint64_t height);
  void note(Map::const_iterator plateau);
  [[nodiscard]] std::uint32_t end_of(Map::const_iterator plateau) const;
  [[nodiscard]] std::uint64_t height_before(std::uint32_t begin) const;
  [[nodiscard]] std::uint64_t height_after(std::uint32_t end) const;

  std::uint32_t ranks_;
  bool circular_;
  Map plateaus_;
  std::vector<Known> heap_;  ///< min-heap; entries that are out of date are dropped when they come up
};

}  // namespace stowage::planner::placement
