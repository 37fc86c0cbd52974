// The largest of any range of a fixed list, in constant time: maxima of all ranges of a power of two.
//
// Thread safety: immutable after making. O(n log n) memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stowage::planner::schedule {

class RangeMax {
 public:
  explicit RangeMax(std::vector<std::uint64_t> values) : levels_{std::move(values)} {
    for (std::size_t width = 1; 2 * width <= levels_[0].size(); width *= 2) {
      const std::vector<std::uint64_t>& below = levels_.back();
      std::vector<std::uint64_t> level(levels_[0].size() - 2 * width + 1);
      for (std::size_t i = 0; i < level.size(); ++i) level[i] = std::max(below[i], below[i + width]);
      levels_.push_back(std::move(level));
    }
  }
  /// Of [begin, end); 0 if that is empty.
  [[nodiscard]] std::uint64_t operator()(std::size_t begin, std::size_t end) const {
    if (begin >= end) return 0;
    const auto level = static_cast<std::size_t>(std::bit_width(end - begin) - 1);
    return std::max(levels_[level][begin], levels_[level][end - (std::size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<std::uint64_t>> levels_;
};

}  // namespace stowage::planner::schedule
