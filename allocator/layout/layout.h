// All plans' slots over one arena, ready for the hot path: entries with their segments, occupancy and owners.
//
// Made again when plans come or go; slots that are live then are carried over, so that no later slot can
// overlap them.
// Thread safety: none. Invariant: live slots are disjoint (each holds its own segments of
// `occupancy`).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/arena/arena.h"
#include "allocator/layout/occupancy.h"
#include "allocator/layout/owner_table.h"
#include "core/plan.h"

namespace stowage::allocator {

/// A place in the arena that an entry may be given, in the order of its stream.
struct Slot {
  std::uint64_t offset = 0;
  SegmentRun run;
  std::uint32_t owner = kNone;  ///< its place in the owner table; kNone: there is no such slot
  StreamId stream{0};
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
};

/// A plan's entry as the hot path sees it: half a cache line. `bytes` is 0, which no request has, where the
/// hot path must not serve it: the entry is upstream's, its slot is not backed by memory, or it is the end of
/// the plan.
struct alignas(32) HotEntry {
  std::uint64_t bytes = 0;
  Slot slot;
};
static_assert(sizeof(HotEntry) == 32);

/// The entries of a plan that are still to come, as far as they matter: from `from` up to `to`, exclusive.
struct Ahead {
  std::uint32_t plan = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::optional<std::uint32_t> next = std::nullopt;  ///< and all entries of this plan
};

class Layout {
 public:
  /// Takes over the live slots of `previous`, if any. Slots that end beyond the last of `segments` are not
  /// served; those in a segment without memory count as in use, until put_in_service().
  Layout(const std::vector<Plan>& plans, const std::vector<Segment>& segments, const Layout* previous);

  /// The plan's entries; one more, the end, follows the last.
  [[nodiscard]] const HotEntry* entries(std::size_t plan) const { return tables_[plan].entries.data(); }
  /// Where else an entry may go; Slot::kNone: nowhere.
  [[nodiscard]] const Slot& spare(std::size_t plan, std::size_t entry) const {
    return tables_[plan].spares[entry];
  }

  /// Makes `slot` live with `requested` bytes if nothing live overlaps it. Requires: there is such a slot.
  bool try_take(const Slot& slot, Bytes requested) noexcept {
    Owner& owner = owners_.at(slot.owner);
    if (!occupancy_.try_take(slot.run)) [[unlikely]]
      return false;
    owner.requested = requested;
    owner.run = slot.run;
    owner.stream = slot.stream;
    owner.born = iteration_;
    return true;
  }
  /// Makes a free run of at least `rounded` bytes live that none of the entries `ahead` has a place in; the
  /// tightest, else nullopt. Where `nowhere_planned`, only of what no plan has a place in. For requests that
  /// have no place of their own. O(ahead + segments).
  std::optional<Slot> take_hole(Bytes requested, StreamId stream, const Ahead& ahead, bool nowhere_planned);
  /// The live slot that begins at `offset`, or nullptr.
  Owner* live_at(std::uint64_t offset) {
    Owner* const owner = owners_.find(offset);
    return owner != nullptr && owner->live() ? owner : nullptr;
  }
  /// Frees a live slot.
  void vacate(Owner& owner) noexcept {
    occupancy_.give_back(owner.run);
    owner.requested = Bytes{0};
    owner.freed = false;
  }
  /// Prefetches `next`, which will soon be requested. A line beyond the plan's end does no harm.
  void prefetch(const HotEntry* next) const noexcept {
    __builtin_prefetch(next + 2);
    owners_.prefetch(next->slot.owner);
  }
  [[nodiscard]] const OwnerTable& owners() const { return owners_; }
  /// An iteration ended. True: call clamp_age() for each live owner of others'.
  bool begin_iteration() noexcept;
  /// The present iteration, for Owner::born.
  [[nodiscard]] std::uint8_t iteration() const noexcept { return iteration_; }
  /// An age above kMostAge becomes that: ages are counted modulo 256.
  void clamp_age(Owner& owner) const noexcept {
    if (age(owner) > kMostAge) owner.born = static_cast<std::uint8_t>(iteration_ - kMostAge);
  }
  /// Iterations that ended while `owner` was live; kMostAge if they are as many or more.
  [[nodiscard]] std::uint8_t age(const Owner& owner) const noexcept {
    return static_cast<std::uint8_t>(iteration_ - owner.born);
  }
  static constexpr std::uint8_t kMostAge = 128;
  /// `segment`, which had no memory when the layout was made, has some now.
  void put_in_service(const Segment& segment) noexcept {
    occupancy_.give_back(run_of(segment.begin, segment.end));
  }

 private:
  struct Table {
    std::vector<HotEntry> entries;
    std::vector<Slot> spares;
  };

  Slot make_slot(const PlanEntry& entry, Offset offset, std::uint64_t mapped);
  SegmentRun run_of(std::uint64_t begin, std::uint64_t end) const;
  void collect_boundaries(const std::vector<Plan>& plans, const std::vector<Segment>& segments,
                          const Layout* previous);
  void carry_over(const Layout& previous);
  void add_grid(const std::vector<Segment>& segments, std::uint64_t planned);
  void note_planned();
  void cover(std::uint32_t plan, std::size_t from, std::size_t to);
  [[nodiscard]] std::optional<SegmentRun> tightest(const Occupancy& taken, std::uint64_t bytes) const;

  Occupancy occupancy_;
  OwnerTable owners_;
  std::vector<Table> tables_;              ///< one a plan
  std::vector<std::uint64_t> boundaries_;  ///< sorted; segment i is [boundaries_[i], boundaries_[i + 1])
  std::uint64_t mapped_ = 0;               ///< end of the last segment in service
  Occupancy planned_;                      ///< where any plan has a place
  Occupancy scratch_;                      ///< of take_hole(), which must not allocate
  std::uint8_t iteration_ = 0;             ///< modulo 256
};

}  // namespace stowage::allocator
