// Requests of a job that no plan can follow: served wherever they fit best.
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "allocator/planned_allocator_state.h"
#include "core/support/check.h"

namespace stowage::allocator {
namespace {

// The finaliser of Murmur3 (Appleby, public domain), shortened.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 33);
}

}  // namespace

void PlannedAllocator::serve_online(Bytes expected) {
  const std::lock_guard guard(hot_.lock);
  STOWAGE_CHECK(state_->plans.empty() && hot_.live == 0, "an arena with plans cannot be served online");
  state_->online = std::make_unique<OnlineRegion>(*state_->arena, expected);
}

bool PlannedAllocator::serves_online() const {
  const std::lock_guard guard(hot_.lock);
  return state_->online != nullptr;
}

std::uint64_t PlannedAllocator::take_sequence() {
  const std::lock_guard guard(hot_.lock);
  return std::exchange(state_->sequence, 0);
}

void* PlannedAllocator::State::serve_online(Bytes bytes, StreamId stream) {
  sequence = mixed(sequence, round_up(bytes).value() + stream.value());
  Owner* const owner = online->take(bytes, stream);
  if (owner == nullptr) return miss(Miss::kSlotInUse, bytes);
  owner->born = hot.layout.iteration();
  ++counts.online;
  --hot.hits;  // give() counts one
  Slot slot;
  slot.offset = owner->offset;
  return hot.give(slot, bytes);
}

Bytes PlannedAllocator::decommit_online(Offset from, Bytes most) {
  OnlineRegion& online = *state_->online;
  const std::lock_guard changing(online.memory().changing());
  {
    const std::lock_guard guard(hot_.lock);
    online.take_out(from, most);
  }
  online.memory().give_back();
  const std::lock_guard guard(hot_.lock);
  return online.memory().put_back();
}

}  // namespace stowage::allocator
