// Arenas of plans that are no longer followed, in which tensors are still alive.
//
// Why: a tensor may live as long as the job runs. It pins only the segments of the arena that it occupies,
// and the next plan gets a new arena.
//
// Thread safety: find() and any() take no lock and may run concurrently with everything else, in a forked
// child too. The other members, from any thread; one mutex, under which allocators and arenas are called,
// but nothing of the session's. An arena is removed only after its last block was freed, so no find() for
// one of its addresses is running then.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>

#include "allocator/planned_allocator.h"
#include "session/arena/retirable_arena.h"

namespace stowage::session {

class FormerArenas {
 public:
  static constexpr std::size_t kCapacity = 16;

  /// `allocator` uses `arena` and serves no more requests; both outlive this. False, and nothing changes:
  /// there are kCapacity already.
  [[nodiscard]] bool add(allocator::PlannedAllocator& allocator, RetirableArena& arena);
  /// The allocator in whose arena `address` lies, or null.
  [[nodiscard]] allocator::PlannedAllocator* find(const void* address) const noexcept {
    if (!any()) return nullptr;
    for (const auto& each : allocators_) {
      allocator::PlannedAllocator* const former = each.load(std::memory_order_acquire);
      if (former != nullptr && former->owns(address)) return former;
    }
    return nullptr;
  }
  [[nodiscard]] bool any() const noexcept { return count_.load(std::memory_order_acquire) != 0; }
  /// DevicePort::decommit() of a device that commits memory on touch.
  using Decommit = std::function<Bytes(void*, Bytes)>;
  /// Gives back memory that no tensor occupies: with `decommit` all pages of which nothing lives, without it
  /// segments. Waits for the device if there is any.
  void shrink(const Decommit& decommit);
  /// Committed bytes of all of them; of each, no more than the ledger counts for it.
  [[nodiscard]] Bytes committed() const;
  /// Bytes of live blocks in them.
  [[nodiscard]] Bytes live() const;

 private:
  void give_back_pages(std::size_t former, const Decommit& decommit);

  mutable std::mutex mutex_;
  std::array<std::atomic<allocator::PlannedAllocator*>, kCapacity>
      allocators_{};                                 ///< written under the mutex
  std::array<RetirableArena*, kCapacity> arenas_{};  ///< of the allocators, in their order
  std::array<Bytes, kCapacity> live_{};              ///< when their pages were given back
  std::atomic<std::size_t> count_{0};
};

}  // namespace stowage::session
