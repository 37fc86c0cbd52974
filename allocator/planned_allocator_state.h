// What a planned allocator has besides what a hit touches. Only planned_allocator*.cc include this.
//
// Thread safety: under the lock of the hot path.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "allocator/cursor.h"
#include "allocator/layout/idle_segments.h"
#include "allocator/layout/stream_regions.h"
#include "allocator/online/online_region.h"
#include "allocator/planned_allocator.h"
#include "allocator/unplanned_lives.h"

namespace stowage::allocator {

/// The end of a plan with no entries.
inline constexpr HotEntry kNoPlan{};

struct PlannedAllocator::State {
  State(std::unique_ptr<Arena> given, std::vector<Plan> first, Hot& shared)
      : hot(shared), arena(std::move(given)), idle(*arena), plans(std::move(first)), cursor(plans) {
    follow_cursor();
  }

  Hot& hot;
  const HotEntry* first_entry = nullptr;  ///< of the current plan
  ServeCounts counts;                     ///< without the hits
  std::unique_ptr<Arena> arena;
  IdleSegments idle;
  std::vector<Plan> plans;
  Cursor cursor;
  StreamRegions regions;  ///< of all plans there were
  std::uint64_t misses_of_iteration = 0;
  std::uint64_t requests_at_mark = 0;  ///< requests() at the last mark
  bool improvises = false;
  bool has_room_above = false;  ///< where the arena grows
  UnplannedLives lives;
  std::uint64_t sequence = 0;            ///< of the requests that were served online since take_sequence()
  std::unique_ptr<OnlineRegion> online;  ///< then there are no plans, and the layout has no slots

  // Set where the cursor must check each request.
  void follow_cursor() {
    const Position at = cursor.position();
    first_entry = at.plan < plans.size() && !cursor.doubts() ? hot.layout.entries(at.plan) : nullptr;
    hot.next = first_entry != nullptr ? first_entry + at.entry : &kNoPlan;
  }
  void update_cursor() {
    if (first_entry != nullptr) cursor.advance_to(static_cast<std::uint32_t>(hot.next - first_entry));
  }

  /// Since counts began.
  [[nodiscard]] std::uint64_t requests() const { return hot.hits + counts.requests(); }
  void* serve(Position at, Bytes bytes);
  void* take(Position at, Bytes bytes);
  void* take_by_another(Position at, Bytes bytes, bool twin);
  bool is_upstreams_by_another(Position at);
  [[nodiscard]] bool may_follow(std::uint32_t plan, Position at) const;
  void* miss(Miss reason, Bytes bytes);
  void* serve_online(Bytes bytes, StreamId stream);
  void* improvise_displaced(Position at, Bytes bytes);
  void* improvise_unplanned(Bytes bytes, StreamId stream);
  void* borrow(Bytes bytes, StreamId stream, UnplannedLives::Life life);
  void* improvise(Bytes bytes, StreamId stream, const Ahead& ahead, bool nowhere_planned);
  void install(std::vector<Plan> wanted, bool keep_position);
  Status grow(Bytes height);
  Status add(Plan plan);
  Status replace(std::vector<Plan> wanted);
};

template <class Work>
void PlannedAllocator::for_live(const Work& work) const {
  if (state_->online != nullptr) return state_->online->for_live(work);
  for (const Owner& owner : hot_.layout.owners().places()) {
    if (owner.live()) work(owner);
  }
}

}  // namespace stowage::allocator
