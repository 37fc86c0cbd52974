// Which ranges of a growing space are free: of a spill file, or of a block of pinned memory.
//
// Best fit, the lowest such first; neighbours that are free are one range. The space grows where nothing
// fits, and shrinks again where its end is free. Thread safety: none. Invariants: ranges are multiples of the
// grain, and no two free ones touch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace stowage::recompute {

struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  ///< as asked for
};

class Extents {
 public:
  explicit Extents(std::uint64_t grain) : grain_(grain) {}

  /// Free room below the end; none: grow() first.
  std::optional<Extent> take(std::uint64_t bytes);
  /// How far the end would have to move so that `bytes` fit.
  [[nodiscard]] std::uint64_t end_for(std::uint64_t bytes) const;
  /// The space ends at `end` now. Requires: it is a multiple of the grain, and not below the present end.
  void grow(std::uint64_t end);
  void give_back(const Extent& extent);
  /// Takes the free range at the end away. The new end.
  std::uint64_t shrink();

  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// Bytes in use, in whole grains.
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] std::uint64_t whole(std::uint64_t bytes) const {
    return (bytes + grain_ - 1) / grain_ * grain_;
  }

 private:
  [[nodiscard]] std::uint64_t free_at_end() const;
  void add_free(std::uint64_t offset, std::uint64_t bytes);

  std::uint64_t grain_;
  std::uint64_t end_ = 0;
  std::uint64_t used_ = 0;
  std::map<std::uint64_t, std::uint64_t> free_;  ///< bytes by offset
};

}  // namespace stowage::recompute
