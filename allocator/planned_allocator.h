// Plan → addresses: serves the requests of a running job from one arena, following its plans. The hot path.
//
// A request that does not follow the plan is a miss: the caller serves it upstream and the cursor finds its
// way back within the iteration. A slot that is still in use is a miss too: for any requests and any
// plans, no two live slots share a byte. Without plans it can serve requests online, wherever they fit best
// (online/online_region.h).
//
// Thread safety: every member may be called from any thread; one lock, held for some ten instructions on a
// hit and for some milliseconds while plans come or go. owns() takes no lock.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <vector>

#include "allocator/arena/arena.h"
#include "allocator/layout/arena_counters.h"
#include "allocator/layout/layout.h"
#include "core/plan.h"
#include "core/support/check.h"
#include "core/trace.h"

namespace stowage::allocator {

enum class Miss : std::uint8_t {
  kUnexpected,  ///< size or stream is not what the plan has next
  kSlotInUse,   ///< the planned place is not free yet, or has no memory behind it (Arena::mapped)
  kBeyondPlan,  ///< more requests than the iteration has
  kCount
};

/// Counters since install or reset. `planned_upstream` requests are upstream's by plan and not misses.
struct ServeCounts {
  std::uint64_t hits = 0;
  std::uint64_t planned_upstream = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(Miss::kCount)> misses{};
  std::uint64_t improvised = 0;    ///< served in the arena where no plan had a place for them; no misses
  std::uint64_t online = 0;        ///< served in the arena without a plan (serve_online)
  std::uint64_t displaced = 0;     ///< requests whose planned place was in use: misses or improvised
  std::uint64_t served_bytes = 0;  ///< of all requests that the arena served
  std::uint64_t missed_bytes = 0;  ///< of all misses and planned_upstream requests
  std::uint64_t iterations = 0;
  std::uint64_t clean_iterations = 0;  ///< without a miss
  std::uint64_t last_iteration_misses = 0;

  /// Requests that no plan had a free place for.
  [[nodiscard]] std::uint64_t off_plan() const {
    return std::accumulate(misses.begin(), misses.end(), improvised);
  }
  /// Of all kinds.
  [[nodiscard]] std::uint64_t requests() const { return hits + planned_upstream + online + off_plan(); }
  /// Also counts what the arena served that these plans had before.
  void add_earlier(const ServeCounts& before);
};

/// A block of the arena that is in use.
struct ArenaBlock {
  Offset offset{0};
  Bytes rounded{0};
  Bytes requested{0};
  StreamId stream{0};
  bool waiting = false;  ///< freed, and still used by other streams
  std::uint8_t age = 0;  ///< iterations that ended while it was in use; 128 if as many or more
  friend bool operator==(const ArenaBlock&, const ArenaBlock&) = default;
};

/// The bytes to map for plans of this height, so that metrics, logged values and the like that no plan knows
/// have room above all of them.
[[nodiscard]] Bytes with_room_above(Bytes height);

class PlannedAllocator {
 public:
  /// Requires: every plan passes Plan::validate() and fits the arena's reserved range, and no address is of
  /// two streams (stream_regions.h). The arena is grown to the highest plan; if the device refuses, slots
  /// beyond Arena::mapped() are misses. `counters`, if any, count every block from its allocation to its free
  /// and outlive the allocator; several may share them, and then share a lock.
  PlannedAllocator(std::unique_ptr<Arena> arena, std::vector<Plan> plans, ArenaCounters* counters = nullptr);
  ~PlannedAllocator();
  PlannedAllocator(const PlannedAllocator&) = delete;
  PlannedAllocator& operator=(const PlannedAllocator&) = delete;

  /// The planned address, or nullptr: serve it upstream (a miss, or upstream's by plan).
  /// Requires: 0 < bytes <= kMaxTotal.
  void* allocate(Bytes bytes, StreamId stream);
  /// As allocate(), without improvising.
  void* allocate_as_planned(Bytes bytes, StreamId stream);
  /// True if `address` lies in the arena. Lock-free.
  [[nodiscard]] bool owns(const void* address) const noexcept {
    return offset_of(address) < hot_.reserved;  // below the base wraps round to a large number
  }
  /// Rounded bytes of the live slot that begins at `address`. Requires: owns(address).
  [[nodiscard]] Bytes size_of(const void* address) const;
  /// Frees the slot, once every hold is released. False, and nothing happens: no live slot begins at
  /// `address`, or it is freed already.
  [[nodiscard]] bool try_free(void* address);
  /// As free(), where anything but a live slot is the caller's error, which ends the process.
  void free(void* address) {
    STOWAGE_CHECK(try_free(address), "this address is not live: it was freed twice, or never given out");
  }
  /// Takes back what allocate() has just given, as a miss: there is no memory behind it after all.
  /// Requires: the slot is live, and no other thread has its address.
  void refuse(void* address);
  /// Calls `work` with each stretch [begin, end) of offsets below `mapped` where nothing is live, while
  /// nothing can become live there. `work` calls no member.
  void visit_free(Bytes mapped, const std::function<void(std::uint64_t begin, std::uint64_t end)>& work);
  /// Gives the memory of every segment of the arena that begins at `from` or above and in which nothing is
  /// live back to the device, which it waits for; of many only the highest, `most` bytes or a segment more.
  /// How much that was. A planned request that needs such a
  /// segment takes new memory for it; where the device has none, it and all others till the next mark are
  /// misses. Not while a graph is being captured. Takes milliseconds.
  Bytes decommit_idle(Offset from = Offset(0), Bytes most = Bytes::max());
  /// Takes new memory for all segments that its plans use and that have none. Error: kOutOfMemory; some may
  /// have got theirs.
  Status commit_all();
  /// Bytes that the next request of this size takes from the device, if it follows the plan.
  [[nodiscard]] Bytes lacking(Bytes bytes, StreamId stream) const;
  /// While this is set, requests whose places have no memory are misses.
  void hold_back(bool wanted);
  /// Bytes of the segments of the arena that stay in use once the blocks at the offsets `but` (ascending) are
  /// freed.
  [[nodiscard]] Bytes pinned_bytes(const std::vector<std::uint64_t>& but) const;
  /// Bytes of the arena that are backed by memory. Counted, without a lock.
  [[nodiscard]] Bytes committed_bytes() const noexcept;
  /// The live block that begins at `address`, unless it is freed already.
  [[nodiscard]] std::optional<ArenaBlock> block_at(const void* address) const;
  /// All of them and those that wait for other streams, in order of offset.
  [[nodiscard]] std::vector<ArenaBlock> active_blocks() const;
  /// Keeps the slot at `address` occupied past its free, until as many release() calls: streams that still
  /// use it. Requires: the slot is live.
  void hold(void* address);
  void release(void* address);

  /// A mark of the job: an inner mark of the plan, or the iteration's end. Resyncs the cursor.
  void on_mark();
  /// One more kind of iteration, from the next iteration on or as soon as the requests show it. The arena
  /// grows if it can; error kOutOfMemory or kInvalidPlan leaves plans and slots as they were.
  /// kInvalidPlan also where it would give memory of one stream, of any plan this arena ever had, to another.
  Status add_plan(Plan plan);
  /// Replaces all plans at an iteration boundary; slots in use stay valid until freed. Where the first of
  /// them are for the same iterations as the plans so far, what was seen of their order is kept. Errors: as
  /// add_plan.
  Status replace_plans(std::vector<Plan> plans);
  /// The kinds of the latest iterations, by plan, oldest first: the plan that should follow is expected next;
  /// or those of `coming`, in this order, for as long as it comes true. Requires: no iteration has begun.
  void foresee(const std::vector<std::uint32_t>& history, std::vector<std::uint32_t> coming = {});
  /// From now on a request without a place, or whose place is in use, gets room in the arena that nothing
  /// needs while it lives, by what the plan knows. Otherwise such requests are misses. `has_room_above`: an
  /// arena that grows for plans has a little more, for such requests.
  void improvise(bool wanted, bool has_room_above = true);

  /// What the iteration allocated that has just ended: if requests that no plan knows were freed within it,
  /// others of about their size may take a planned place from now on until that is needed. O(lives +
  /// entries).
  void learn_lives(const std::vector<RequestLife>& lives);

  /// From now on requests are served wherever they fit best in the whole reserved range, of which memory is
  /// taken as needed, probably `expected` bytes. Until replace_plans({}), after which nothing is served.
  /// Requires: there was no plan.
  void serve_online(Bytes expected);
  [[nodiscard]] bool serves_online() const;
  /// What was requested online since the last call, in its order, as a hash.
  std::uint64_t take_sequence();

  /// Bytes that the job holds outside the arena, so that peak_bytes() is the peak of the sum.
  void set_outside_bytes(Bytes bytes);
  [[nodiscard]] Bytes live_bytes() const;  ///< rounded bytes of live slots, held ones included
  [[nodiscard]] Bytes peak_bytes() const;  ///< peak of live + outside since reset_peak
  void reset_peak();
  /// Which addresses are which stream's: of all plans there were, and of what was improvised.
  [[nodiscard]] std::vector<StreamRange> stream_ranges() const;
  [[nodiscard]] ServeCounts counts() const;
  void reset_counts();
  [[nodiscard]] const Arena& arena() const;
  [[nodiscard]] std::size_t plan_count() const;

 private:
  struct State;
  /// What a hit touches, side by side.
  struct alignas(64) Hot {
    Hot(ArenaCounters& shared, const Arena& arena, Layout first);
    void* give(const Slot& slot, Bytes requested) noexcept;
    void vacate(Owner& owner) noexcept;
    void raise_peak() noexcept {
      if (live + outside > peak) peak = live + outside;
    }

    SpinLock& lock;
    ArenaCounters& counters;
    const std::uintptr_t base;  ///< it and `reserved` never change, so owns() needs no lock
    const std::uint64_t reserved;
    const HotEntry* next = nullptr;  ///< the entry that the cursor will be at, hits included
    std::uint64_t hits = 0;
    std::uint64_t live = 0;  ///< only goes up unless raise_peak() was called
    std::uint64_t served = 0;
    std::uint64_t outside = 0;
    std::uint64_t peak = 0;
    Layout layout;
  };

  [[nodiscard]] std::uint64_t offset_of(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - hot_.base;
  }
  Owner& live_at(const void* address);
  void* allocate_slow(Bytes bytes, StreamId stream);
  bool try_free_slow(Owner* owner, const void* address);
  [[nodiscard]] Owner* find_live(const void* address) const;
  void vacate(Owner& owner) noexcept;
  Bytes decommit_online(Offset from, Bytes most);
  template <class Work>
  void for_live(const Work& work) const;

  std::unique_ptr<ArenaCounters> own_counters_;  ///< if there are no others
  mutable Hot hot_;
  std::unique_ptr<State> state_;
};

inline void* PlannedAllocator::Hot::give(const Slot& slot, Bytes requested) noexcept {
  counters.add(requested);
  const std::uint64_t rounded = round_up(requested).value();
  live += rounded;
  served += rounded;
  ++hits;
  return reinterpret_cast<void*>(base + slot.offset);
}

inline void PlannedAllocator::Hot::vacate(Owner& owner) noexcept {
  raise_peak();
  live -= owner.rounded().value();
  layout.vacate(owner);
}

[[gnu::always_inline]] inline void* PlannedAllocator::allocate(Bytes bytes, StreamId stream) {
  const std::lock_guard guard(hot_.lock);
  const HotEntry& entry = *hot_.next;
  if (entry.bytes == round_up(bytes).value() && entry.slot.stream == stream &&
      hot_.layout.try_take(entry.slot, bytes)) [[likely]] {
    hot_.layout.prefetch(++hot_.next);
    return hot_.give(entry.slot, bytes);
  }
  return allocate_slow(bytes, stream);
}

[[gnu::always_inline]] inline bool PlannedAllocator::try_free(void* address) {
  const std::lock_guard guard(hot_.lock);
  Owner* const owner = hot_.layout.live_at(offset_of(address));
  if (owner == nullptr || owner->holds != 0) [[unlikely]]
    return try_free_slow(owner, address);
  hot_.counters.remove(owner->requested);
  hot_.vacate(*owner);
  return true;
}

}  // namespace stowage::allocator
