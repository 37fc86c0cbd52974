// Room in the arena for requests that the plan has no free place for: a size that it does not know, or a
// place that a tensor of an earlier iteration still occupies.
#include <algorithm>
#include <mutex>
#include <utility>

#include "allocator/planned_allocator_state.h"

namespace stowage::allocator {

Bytes with_room_above(Bytes height) {
  constexpr std::uint64_t kMostRoom = 64 << 10, kShareOfRoom = 256;
  const std::uint64_t room = std::min(kMostRoom, height.value() / kShareOfRoom);
  return height + Bytes(room / kGranule.value() * kGranule.value());
}

void* PlannedAllocator::State::improvise(Bytes bytes, StreamId stream, const Ahead& ahead,
                                         bool nowhere_planned) {
  const std::optional<Slot> slot = hot.layout.take_hole(bytes, stream, ahead, nowhere_planned);
  if (!slot) return nullptr;
  if (!regions.claim(slot->offset, slot->offset + round_up(bytes).value(), stream)) {
    hot.layout.vacate(*hot.layout.live_at(slot->offset));
    return nullptr;
  }
  ++counts.improvised;
  --hot.hits;  // give() counts one
  return hot.give(*slot, bytes);
}

// The plan says how long it lives in its own iteration. What crosses must not displace anything in the next
// one either, whatever its kind: what is displaced there may cross as well, and no iteration would find its
// places free again.
void* PlannedAllocator::State::improvise_displaced(Position at, Bytes bytes) {
  if (!improvises) return nullptr;
  const Plan& plan = plans[at.plan];
  const PlanEntry& entry = plan.entries[at.entry];
  const auto end = static_cast<std::uint32_t>(plan.entries.size());
  Ahead ahead{at.plan, at.entry + 1, std::min(end, entry.death)};
  if (entry.crosses) ahead.next = cursor.likely_next();
  void* const address = improvise(bytes, entry.stream, ahead, false);
  if (address != nullptr) ++counts.displaced;
  return address;
}

// Nothing says how long it lives. A copy of weights that took a planned place would displace what is planned
// there, perhaps a far larger tensor, in every iteration; so where no plan has a place, unless its like was
// freed soon.
void* PlannedAllocator::State::improvise_unplanned(Bytes bytes, StreamId stream) {
  if (!improvises || plans.empty()) return nullptr;
  const UnplannedLives::Life life = lives.of(round_up(bytes), requests() - requests_at_mark);
  void* const address = improvise(bytes, stream, {}, true);
  const bool frees_soon = life == UnplannedLives::Life::kBrief || life == UnplannedLives::Life::kShort;
  return address == nullptr && frees_soon ? borrow(bytes, stream, life) : address;
}

// A place that the plan needs as late as possible. At least not before a quarter of what is left of it,
// unless it will be free again before the plan goes on.
void* PlannedAllocator::State::borrow(Bytes bytes, StreamId stream, UnplannedLives::Life life) {
  constexpr std::uint32_t kLeastShare = 4;
  const Position at = cursor.position();
  const auto left = static_cast<std::uint32_t>(plans[at.plan].entries.size()) - at.entry;
  for (std::uint32_t share = 1; share <= kLeastShare; share *= 2) {
    void* const address = improvise(bytes, stream, {at.plan, at.entry, at.entry + left / share}, false);
    if (address != nullptr) return address;
  }
  return life == UnplannedLives::Life::kBrief ? improvise(bytes, stream, {}, false) : nullptr;
}

void PlannedAllocator::learn_lives(const std::vector<RequestLife>& lives) {
  const std::lock_guard guard(hot_.lock);
  state_->lives.learn(lives, state_->plans);
}

void PlannedAllocator::improvise(bool wanted, bool has_room_above) {
  const std::lock_guard guard(hot_.lock);
  state_->improvises = wanted;
  state_->has_room_above = wanted && has_room_above;
}

void* PlannedAllocator::allocate_as_planned(Bytes bytes, StreamId stream) {
  const std::lock_guard guard(hot_.lock);
  const bool improvises = std::exchange(state_->improvises, false);
  void* const address = allocate_slow(bytes, stream);
  state_->improvises = improvises;
  return address;
}

std::vector<StreamRange> PlannedAllocator::stream_ranges() const {
  const std::lock_guard guard(hot_.lock);
  return state_->regions.ranges();
}

void PlannedAllocator::foresee(const std::vector<std::uint32_t>& history, std::vector<std::uint32_t> coming) {
  const std::lock_guard guard(hot_.lock);
  state_->cursor.foresee(history);
  state_->cursor.expect(std::move(coming));
  state_->follow_cursor();
}

}  // namespace stowage::allocator
