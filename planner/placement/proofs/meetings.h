// Which pieces and obstacles each piece lives at one time with.
//
// Thread safety: immutable once built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/placement/instance/instance.h"

namespace stowage::planner::placement {

class Meetings {
 public:
  /// Pairs from which on there is no list.
  static constexpr std::size_t kMost = std::size_t{1} << 22;

  /// Counts its work on the meter.
  Meetings(const Instance& instance, WorkMeter& meter);

  /// False, and not to be used, if there are too many or the meter stopped it.
  [[nodiscard]] bool complete() const { return !from_.empty(); }
  /// Ascending; an obstacle stands behind all pieces. Those with gaps meet in their parts only.
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t piece) const {
    return std::span(others_).subspan(from_[piece], from_[piece + 1] - from_[piece]);
  }

 private:
  std::vector<std::size_t> from_;  ///< by piece, in others_; one more at the end
  std::vector<std::uint32_t> others_;
};

}  // namespace stowage::planner::placement
