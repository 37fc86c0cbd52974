#include "session/arena/former_arenas.h"

#include <algorithm>
#include <utility>

namespace stowage::session {

bool FormerArenas::add(allocator::PlannedAllocator& allocator, RetirableArena& arena) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < kCapacity; ++i) {
    if (allocators_[i].load(std::memory_order_relaxed) != nullptr) continue;
    arenas_[i] = &arena;
    live_[i] = Bytes(0);
    allocators_[i].store(&allocator, std::memory_order_release);
    count_.fetch_add(1, std::memory_order_release);
    return true;
  }
  return false;
}

// The ledger counts no more than what is left.
void FormerArenas::give_back_pages(std::size_t former, const Decommit& decommit) {
  allocator::PlannedAllocator& allocator = *allocators_[former].load(std::memory_order_relaxed);
  RetirableArena& arena = *arenas_[former];
  const Bytes live = allocator.live_bytes();
  if (std::exchange(live_[former], live) == live) return;
  Bytes kept = arena.mapped();
  allocator.visit_free(arena.mapped(), [&](std::uint64_t begin, std::uint64_t end) {
    kept = kept - decommit(static_cast<std::byte*>(arena.base()) + begin, Bytes(end - begin));
  });
  arena.uncharge(kept);
}

void FormerArenas::shrink(const Decommit& decommit) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < kCapacity; ++i) {
    allocator::PlannedAllocator* const former = allocators_[i].load(std::memory_order_relaxed);
    if (former == nullptr) continue;
    if (former->live_bytes().value() != 0) {
      if (decommit) {
        give_back_pages(i, decommit);
      } else {
        former->decommit_idle();
      }
      continue;
    }
    allocators_[i].store(nullptr, std::memory_order_release);  // before the addresses can be mapped again
    count_.fetch_sub(1, std::memory_order_release);
    arenas_[i]->retire();
  }
}

Bytes FormerArenas::committed() const {
  const std::lock_guard lock(mutex_);
  Bytes sum{0};
  for (std::size_t i = 0; i < kCapacity; ++i) {
    const auto* former = allocators_[i].load(std::memory_order_relaxed);
    if (former != nullptr) sum += std::min(former->committed_bytes(), arenas_[i]->charged());
  }
  return sum;
}

Bytes FormerArenas::live() const {
  const std::lock_guard lock(mutex_);
  Bytes sum{0};
  for (const auto& each : allocators_) {
    if (const auto* former = each.load(std::memory_order_relaxed)) sum += former->live_bytes();
  }
  return sum;
}

}  // namespace stowage::session
