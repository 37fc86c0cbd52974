// The owner of an arena offset: a fixed set of offsets, each with at most one live slot that begins there.
//
// Why a small hash table and not an array over the arena's granules: an 80 GiB arena has 160 million
// granules, of which an iteration uses a thousand; the table stays in the first cache levels and the array
// would not.
// Thread safety: none. Invariant: at least half of the places are empty, so that every probe ends.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "allocator/layout/occupancy.h"
#include "core/units.h"

namespace stowage::allocator {

/// The live slot, if any, that begins at `offset`. 32 bytes: two to a cache line.
struct alignas(32) Owner {
  std::uint64_t offset = kNowhere;
  Bytes requested{0};       ///< what the live slot was asked for with; 0: none
  SegmentRun run;           ///< the live slot's segments
  StreamId stream{0};       ///< and its stream
  std::uint16_t holds = 0;  ///< streams that still use the slot
  bool freed = false;       ///< free() was called, holds remain
  std::uint8_t born = 0;    ///< iteration in which it became live, modulo 256 (Layout::age)

  [[nodiscard]] bool live() const { return requested != Bytes{0}; }
  [[nodiscard]] Bytes rounded() const { return round_up(requested); }
  static constexpr std::uint64_t kNowhere =
      ~std::uint64_t{0};  ///< of a place of the table that is not in use
};
static_assert(sizeof(Owner) == 32);

class OwnerTable {
 public:
  /// A table for at most `offsets` different offsets.
  explicit OwnerTable(std::size_t offsets = 0)
      : places_(std::bit_ceil(2 * offsets + 2)), shift_(65 - std::bit_width(places_.size())) {}

  /// Makes `offset` known. Returns its place, which stays.
  std::uint32_t insert(std::uint64_t offset) {
    std::uint32_t place = start(offset);
    while (places_[place].offset != Owner::kNowhere && places_[place].offset != offset) place = next(place);
    places_[place].offset = offset;
    return place;
  }

  /// The present or last owner of `offset`; nullptr if no slot begins there. Requires: offset is not
  /// kNowhere.
  Owner* find(std::uint64_t offset) {
    std::uint32_t place = start(offset);
    while (places_[place].offset != offset) [[unlikely]] {
        if (places_[place].offset == Owner::kNowhere) return nullptr;
        place = next(place);
      }
    return &places_[place];
  }

  /// Prefetches `place`; one outside the table does no harm.
  void prefetch(std::uint32_t place) const noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(places_.data());
    __builtin_prefetch(reinterpret_cast<const void*>(first + std::uint64_t{place} * sizeof(Owner)), 1);
  }
  Owner& at(std::uint32_t place) { return places_[place]; }
  [[nodiscard]] const std::vector<Owner>& places() const { return places_; }
  template <class Work>
  void for_live(const Work& work) {
    for (Owner& owner : places_) {
      if (owner.live()) work(owner);
    }
  }

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
