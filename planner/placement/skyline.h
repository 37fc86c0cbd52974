// The height of what is placed, over time: range assignment and range maximum in O(log ranks).
//
// Thread safety: one thread. Invariant: heights only rise (raise() is called with at least the range's
// maximum).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/placement/instance.h"

namespace stowage::planner::placement {

class Skyline {
 public:
  /// All heights `floor` bytes. Requires: ranks > 0.
  Skyline(std::uint32_t ranks, std::uint64_t floor) : ranks_(ranks) {
    while (width_ < ranks_) width_ *= 2;
    highest_.assign(2 * width_, floor);
    whole_.assign(2 * width_, floor);
  }

  /// Highest point during `life`.
  [[nodiscard]] std::uint64_t highest(const Life& life) const {
    const std::uint64_t first = query(1, 0, width_, life.begin, life.end);
    return life.wrapped_end == 0 ? first : std::max(first, query(1, 0, width_, 0, life.wrapped_end));
  }
  /// Sets the height during `life`. Requires: height >= highest(life).
  void raise(const Life& life, std::uint64_t height) {
    update(1, 0, width_, life.begin, life.end, height);
    if (life.wrapped_end != 0) update(1, 0, width_, 0, life.wrapped_end, height);
  }

 private:
  // whole_[n]: a height that all of node n's range has at least; highest_[n]: its maximum. Since heights only
  // rise, a maximum with whole_ on the way down replaces the usual pushing of lazy marks.
  [[nodiscard]] std::uint64_t query(std::uint32_t node, std::uint32_t low, std::uint32_t high,
                                    std::uint32_t begin, std::uint32_t end) const {
    if (begin <= low && high <= end) return highest_[node];
    const std::uint32_t middle = low + (high - low) / 2;
    std::uint64_t result = whole_[node];
    if (begin < middle) result = std::max(result, query(2 * node, low, middle, begin, end));
    if (middle < end) result = std::max(result, query(2 * node + 1, middle, high, begin, end));
    return result;
  }
  void update(std::uint32_t node, std::uint32_t low, std::uint32_t high, std::uint32_t begin,
              std::uint32_t end, std::uint64_t height) {
    highest_[node] = std::max(highest_[node], height);
    if (begin <= low && high <= end) {
      whole_[node] = std::max(whole_[node], height);
      return;
    }
    const std::uint32_t middle = low + (high - low) / 2;
    if (begin < middle) update(2 * node, low, middle, begin, end, height);
    if (middle < end) update(2 * node + 1, middle, high, begin, end, height);
  }

  std::uint32_t ranks_;
  std::uint32_t width_ = 1;
  std::vector<std::uint64_t> highest_;
  std::vector<std::uint64_t> whole_;
};

}  // namespace stowage::planner::placement
