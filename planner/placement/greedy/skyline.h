// The skyline: the height of what is placed, over time, as plateaus. A piece goes on top of one that is lower
// than its neighbours.
//
// Which of several such plateaus is filled first does not change what ends up where: a plateau's neighbours
// stand still as long as it is lower than they are. So the next one is always sought beside the last one, in
// a few steps and in memory that is still warm, and not by a priority queue over all of time.
//
// Thread safety: one thread. Invariants: plateaus cover [0, ranks) and neighbours differ in height, on a
// circle except for the last and the first, which lowest() joins.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "planner/placement/instance/instance.h"

namespace stowage::planner::placement {

/// A stretch of time on one height.
struct Plateau {
  Life span;
  std::uint64_t height = 0;  ///< bytes
  std::uint64_t next = 0;    ///< height of its lower neighbour; UINT64_MAX when it covers all time
};

class Skyline {
 public:
  /// One plateau. `circular`: rank 0 follows the last one. Requires: ranks > 0.
  Skyline(std::uint32_t ranks, std::uint64_t floor, bool circular);

  /// The plateaus `begin → height`, of which the first begins at 0; neighbours may be of one height. A line.
  /// Requires: begins ascend and lie in [0, ranks).
  Skyline(std::uint32_t ranks, std::span<const std::pair<std::uint32_t, std::uint64_t>> plateaus);

  /// A plateau lower than its neighbours, near the last change. Constant time, taken over all calls.
  [[nodiscard]] Plateau lowest();
  /// Sets the height during `span`. Requires: it lies in what lowest() returned last, and `height` is above
  /// that.
  void raise(const Life& span, std::uint64_t height);

 private:
  struct Node {
    std::uint64_t height = 0;
    std::uint32_t previous = 0;  ///< ranks at which the neighbours begin, round the circle
    std::uint32_t next = 0;
  };

  void raise_within(std::uint32_t plateau, std::uint32_t begin, std::uint32_t end, std::uint64_t height);
  void insert_after(std::uint32_t plateau, std::uint32_t begin, std::uint64_t height);
  void erase(std::uint32_t plateau);
  [[nodiscard]] std::uint32_t end_of(std::uint32_t plateau) const;
  [[nodiscard]] std::uint64_t height_before(std::uint32_t plateau) const;
  [[nodiscard]] std::uint64_t height_after(std::uint32_t plateau) const;

  std::uint32_t ranks_;
  bool circular_;
  std::uint32_t near_ = 0;   ///< where lowest() starts to look
  std::vector<Node> nodes_;  ///< by the rank at which a plateau begins
};

}  // namespace stowage::planner::placement
