// Plan → addresses: serves the requests of a running job from one arena, following its plans. The hot path.
//
// A request that does not follow the plan is a miss: the caller serves it upstream and the cursor finds its
// way back within the iteration. A slot that is still in use is a miss too, never an overlap: whatever the
// job does and whichever plans there are, no two live slots share a byte.
//
// Thread safety: every member may be called from any thread; one lock, held for some ten instructions on a
// hit and for some milliseconds while plans come or go. owns() takes no lock.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "allocator/arena.h"
#include "allocator/arena_counters.h"
#include "core/plan.h"

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
  std::uint64_t iterations = 0;
  std::uint64_t clean_iterations = 0;  ///< without a miss
  std::uint64_t last_iteration_misses = 0;
};

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
  /// Requires: requested > 0; rounded is round_up(requested).
  void* allocate(Bytes rounded, StreamId stream, Bytes requested);
  void* allocate(Bytes rounded, StreamId stream) { return allocate(rounded, stream, rounded); }
  /// True if `address` lies in the arena. Lock-free.
  [[nodiscard]] bool owns(const void* address) const noexcept;
  /// Rounded bytes of the live slot that begins at `address`. Requires: owns(address).
  [[nodiscard]] Bytes size_of(const void* address) const;
  /// Ends the slot's life, once every hold is released. Requires: `address` came from allocate and is live.
  void free(void* address);
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
  /// Replaces all plans at an iteration boundary; slots in use stay valid until freed. Errors: as add_plan.
  Status replace_plans(std::vector<Plan> plans);

  /// Bytes that the job holds outside the arena, so that peak_bytes() is the peak of the sum.
  void set_outside_bytes(Bytes bytes);
  [[nodiscard]] Bytes live_bytes() const;  ///< rounded bytes of live slots, held ones included
  [[nodiscard]] Bytes peak_bytes() const;  ///< peak of live + outside since reset_peak
  void reset_peak();
  [[nodiscard]] ServeCounts counts() const;
  void reset_counts();
  [[nodiscard]] const Arena& arena() const;
  [[nodiscard]] std::size_t plan_count() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stowage::allocator
