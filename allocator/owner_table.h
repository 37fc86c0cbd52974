// Who lives at an arena offset: a fixed set of offsets, each with at most one live slot that begins there.
//
// Why a small hash table and not an array over the arena's granules: an 80 GiB arena has 160 million
// granules, of which an iteration uses a thousand; the table stays in the first cache levels and the array
// would not.
// Thread safety: none. Invariant: at least half of the places are empty, so that every probe ends.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "allocator/occupancy.h"
#include "core/check.h"

namespace stowage::allocator {

/// The live slot, if any, that begins at `offset`. 32 bytes: two to a cache line.
struct Owner {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  ///< rounded bytes of the live slot; 0: none
  SegmentRun run;           ///< the live slot's segments
  std::uint32_t holds = 0;  ///< streams that still use the slot
  bool known = false;       ///< this place of the table is in use
  bool freed = false;       ///< free() has come, holds are left
  std::uint16_t slack = 0;  ///< how many of `bytes` are rounding
};

class OwnerTable {
 public:
  /// A table for at most `offsets` different offsets.
  explicit OwnerTable(std::size_t offsets = 0)
      : places_(std::bit_ceil(2 * offsets + 2)), shift_(65 - std::bit_width(places_.size())) {}

  /// Makes `offset` known. Returns its place, which stays.
  std::uint32_t insert(std::uint64_t offset) {
    std::uint32_t place = start(offset);
    while (places_[place].known && places_[place].offset != offset) place = next(place);
    places_[place].known = true;
    places_[place].offset = offset;
    return place;
  }

  /// The place of `offset`. A violated contract of the caller (an address that no slot begins at) ends the
  /// process.
  Owner& find(std::uint64_t offset) {
    std::uint32_t place = start(offset);
    while (places_[place].offset != offset || !places_[place].known) {
      STOWAGE_CHECK(places_[place].known, "no slot of the arena begins at this address");
      place = next(place);
    }
    return places_[place];
  }

  Owner& at(std::uint32_t place) { return places_[place]; }
  [[nodiscard]] const std::vector<Owner>& places() const { return places_; }

 private:
  /// Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): the high bits of a multiplication.
  [[nodiscard]] std::uint32_t start(std::uint64_t offset) const {
    return static_cast<std::uint32_t>(((offset >> 9) * 0x9E3779B97F4A7C15u) >> shift_);
  }
  [[nodiscard]] std::uint32_t next(std::uint32_t place) const {
    return static_cast<std::uint32_t>((place + 1) & (places_.size() - 1));
  }

  std::vector<Owner> places_;
  int shift_;
};

}  // namespace stowage::allocator
