// Arenas of plans that are no longer followed, in which a tensor still lives.
//
// Why: a tensor may stay for as long as the job runs. It keeps the segments of the arena that it lies in and
// nothing else, and the next plan gets an arena of its own.
//
// Thread safety: find() and any() take no lock and may run beside all else, in a forked child too. The other
// members, from any thread; one mutex, under which allocators and arenas are called, but nothing of the
// session's. An arena leaves only after its last block was freed, so no find() for an address of it is
// underway then.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

#include "allocator/planned_allocator.h"
#include "session/arena/retirable_arena.h"

namespace stowage::session {

class FormerArenas {
 public:
  static constexpr std::size_t kCapacity = 16;

  /// `allocator`, which no longer hands out addresses, uses `arena`; both outlive this. False, and nothing
  /// changes: there are kCapacity already.
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
  /// Gives back all memory that no tensor lies in. Waits for the device if there is anything.
  void shrink();
  /// Bytes of memory behind all of them, or what the ledger counts of that, if it is less.
  [[nodiscard]] Bytes committed() const;
  /// Bytes that live in them.
  [[nodiscard]] Bytes live() const;

 private:
  mutable std::mutex mutex_;
  std::array<std::atomic<allocator::PlannedAllocator*>, kCapacity>
      allocators_{};                                 ///< written under the mutex
  std::array<RetirableArena*, kCapacity> arenas_{};  ///< of the allocators, in their order
  std::atomic<std::size_t> count_{0};
};

}  // namespace stowage::session
