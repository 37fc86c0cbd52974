// All plans' slots over one arena, ready for the hot path: entries with their segments, occupancy and owners.
//
// Made anew when plans come or go; slots that are live then are carried over, so that no later slot can
// overlap them.
// Thread safety: none. Invariant: live slots are disjoint (each holds its own segments of
// `occupancy`).
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/occupancy.h"
#include "allocator/owner_table.h"
#include "core/plan.h"

namespace stowage::allocator {

/// A place in the arena that an entry may be given.
struct Slot {
  std::uint64_t offset = 0;
  SegmentRun run;
  std::uint32_t owner = kNone;  ///< its place in the owner table; kNone: there is no such slot
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
};

/// A plan's entry as the hot path sees it: one cache line. `bytes` is 0, which no request has, where the hot
/// path must not serve it: the entry is upstream's, its slot is not backed by memory, or it is the end of the
/// plan.
struct alignas(64) HotEntry {
  std::uint64_t bytes = 0;
  std::uint32_t stream = 0;
  Slot slot;
  Slot spare;
};
static_assert(sizeof(HotEntry) == 64);

class Layout {
 public:
  /// Takes over the live slots of `previous`, if any. Slots that end beyond `mapped` are not served.
  Layout(const std::vector<Plan>& plans, Bytes mapped, const Layout* previous);

  /// The plan's entries; one more, the end, follows the last.
  [[nodiscard]] const HotEntry* entries(std::size_t plan) const { return entries_[plan].data(); }

  /// Makes `slot` live with `bytes` if it is there and nothing live overlaps it.
  bool try_take(const Slot& slot, std::uint64_t bytes) noexcept {
    if (slot.owner == Slot::kNone || !occupancy_.try_take(slot.run)) return false;
    Owner& owner = owners_.at(slot.owner);
    owner.bytes = bytes;
    owner.run = slot.run;
    return true;
  }
  /// Who lives at `slot`. Requires: there is such a slot.
  Owner& owner_of(const Slot& slot) noexcept { return owners_.at(slot.owner); }
  /// The live slot that begins at `offset`. A dead one, or none, ends the process: memory would be corrupted.
  Owner& live_at(std::uint64_t offset) {
    Owner& owner = owners_.find(offset);
    STOWAGE_CHECK(owner.bytes != 0, "this address is not live: it was freed twice, or never given out");
    return owner;
  }
  /// Ends the life of a live slot.
  void vacate(Owner& owner) noexcept {
    occupancy_.give_back(owner.run);
    owner.bytes = 0;
    owner.freed = false;
  }
  [[nodiscard]] const OwnerTable& owners() const { return owners_; }

 private:
  Slot make_slot(Offset offset, Bytes bytes, std::uint64_t mapped);
  SegmentRun run_of(std::uint64_t begin, std::uint64_t end) const;
  void collect_boundaries(const std::vector<Plan>& plans, const Layout* previous);
  void carry_over(const Layout& previous);

  std::vector<std::uint64_t> boundaries_;  ///< sorted; segment i is [boundaries_[i], boundaries_[i + 1])
  Occupancy occupancy_;
  OwnerTable owners_;
  std::vector<std::vector<HotEntry>> entries_;
};

}  // namespace stowage::allocator
