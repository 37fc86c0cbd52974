// The memory behind a planned allocator's arena: what of it goes back to the device, and comes again.
#include <mutex>
#include <new>

#include "allocator/planned_allocator_state.h"

namespace stowage::allocator {

Bytes PlannedAllocator::decommit_idle(Offset from, Bytes most) try {
  State& state = *state_;
  if (state.online != nullptr) return decommit_online(from, most);
  const std::lock_guard changing(state.idle.changing());
  {
    const std::lock_guard guard(hot_.lock);
    state.update_cursor();
    state.idle.take_out(from, most, state.plans, hot_.layout);
    state.follow_cursor();
  }
  state.idle.give_back();
  const std::lock_guard guard(hot_.lock);
  return state.idle.put_back(hot_.layout);
} catch (const std::bad_alloc&) {
  return Bytes(0);
}

Status PlannedAllocator::commit_all() {
  if (state_->online != nullptr) {
    const std::lock_guard changing(state_->online->memory().changing());
    const std::lock_guard guard(hot_.lock);
    return state_->online->memory().commit_all();
  }
  const std::lock_guard changing(state_->idle.changing());
  const std::lock_guard guard(hot_.lock);
  return state_->idle.commit_below(highest(state_->plans), hot_.layout);
}

Bytes PlannedAllocator::lacking(Bytes bytes, StreamId stream) const {
  const std::lock_guard guard(hot_.lock);
  if (state_->online != nullptr) return state_->online->lacking(bytes, stream);
  const HotEntry& entry = *hot_.next;
  if (entry.bytes != round_up(bytes).value() || entry.slot.stream != stream) return Bytes(0);
  return state_->idle.lacking(entry.slot.offset, entry.slot.offset + entry.bytes);
}

void PlannedAllocator::hold_back(bool wanted) {
  const std::lock_guard guard(hot_.lock);
  state_->idle.hold_back(wanted);
  if (state_->online != nullptr) state_->online->memory().hold_back(wanted);
}

Bytes PlannedAllocator::pinned_bytes(const std::vector<std::uint64_t>& but) const {
  const std::lock_guard changing(state_->idle.changing());
  const std::lock_guard guard(hot_.lock);
  if (state_->online != nullptr) return state_->online->pinned(but);
  return state_->idle.pinned(hot_.layout, but);
}

Bytes PlannedAllocator::committed_bytes() const noexcept {
  return state_->online != nullptr ? state_->online->memory().committed() : state_->idle.committed();
}

void PlannedAllocator::set_outside_bytes(Bytes bytes) {
  const std::lock_guard guard(hot_.lock);
  hot_.raise_peak();
  hot_.outside = bytes.value();
}

}  // namespace stowage::allocator
