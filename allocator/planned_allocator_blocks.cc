// The blocks of an arena that are in use: which they are, and those that other streams hold.
#include <algorithm>
#include <mutex>
#include <utility>

#include "allocator/planned_allocator_state.h"
#include "core/support/check.h"

namespace stowage::allocator {
namespace {

ArenaBlock block_of(const Owner& owner, const Layout& layout) {
  return {Offset(owner.offset), owner.rounded(), owner.requested,
          owner.stream,         owner.freed,     std::min(layout.age(owner), Layout::kMostAge)};
}

}  // namespace

Owner* PlannedAllocator::find_live(const void* address) const {
  const std::uint64_t offset = offset_of(address);
  return state_->online != nullptr ? state_->online->live_at(offset) : hot_.layout.live_at(offset);
}

void PlannedAllocator::vacate(Owner& owner) noexcept {
  if (state_->online == nullptr) return hot_.vacate(owner);
  hot_.raise_peak();
  hot_.live -= owner.rounded().value();
  state_->online->vacate(owner);
}

Owner& PlannedAllocator::live_at(const void* address) {
  Owner* const owner = find_live(address);
  STOWAGE_CHECK(owner != nullptr, "this address is not live: it was freed twice, or never given out");
  return *owner;
}

Bytes PlannedAllocator::size_of(const void* address) const {
  const std::lock_guard guard(hot_.lock);
  const Owner* const owner = find_live(address);
  STOWAGE_CHECK(owner != nullptr, "no live slot begins at this address");
  return owner->rounded();
}

void PlannedAllocator::visit_free(Bytes mapped,
                                  const std::function<void(std::uint64_t, std::uint64_t)>& work) {
  const std::lock_guard guard(hot_.lock);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
  for_live(
      [&](const Owner& owner) { live.emplace_back(owner.offset, owner.offset + owner.rounded().value()); });
  std::sort(live.begin(), live.end());
  live.emplace_back(mapped.value(), mapped.value());
  std::uint64_t at = 0;
  for (const auto& [begin, end] : live) {
    if (begin > at) work(at, begin);
    at = std::max(at, end);
  }
}

std::optional<ArenaBlock> PlannedAllocator::block_at(const void* address) const {
  const std::lock_guard guard(hot_.lock);
  const Owner* const owner = find_live(address);
  if (owner == nullptr || owner->freed) return std::nullopt;
  return block_of(*owner, hot_.layout);
}

std::vector<ArenaBlock> PlannedAllocator::active_blocks() const {
  std::vector<ArenaBlock> blocks;
  {
    const std::lock_guard guard(hot_.lock);
    for_live([&](const Owner& owner) { blocks.push_back(block_of(owner, hot_.layout)); });
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const ArenaBlock& one, const ArenaBlock& other) { return one.offset < other.offset; });
  return blocks;
}

void PlannedAllocator::hold(void* address) {
  const std::lock_guard guard(hot_.lock);
  ++live_at(address).holds;
}

void PlannedAllocator::release(void* address) {
  const std::lock_guard guard(hot_.lock);
  Owner& owner = live_at(address);
  STOWAGE_CHECK(owner.holds > 0, "release() without a hold()");
  if (--owner.holds != 0 || !owner.freed) return;
  hot_.counters.complete(owner.requested);
  vacate(owner);
}

}  // namespace stowage::allocator
