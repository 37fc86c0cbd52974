// Balances the device's memory between arena and upstream, so that both together never hold more than the
// job was seen to need without a plan (reserved_guard.h).
//
// A new arena has addresses and no memory. A segment gets memory when the plan first needs it; if both
// together would then be too much, upstream's cache is released first. Conversely, an unplanned
// evaluation leaves the arena idle: before upstream grows beyond the need, idle segments release their
// memory. Each transfer waits for the device. A job that would do so all the time is better off without
// its plan.
//
// Thread safety: for_arena(), look_again(), keep_peak_low() and release_upstream() from any thread; the rest
// is the conductor's.
#pragma once

#include <atomic>
#include <cstdint>

#include "session/arena/served_arena.h"
#include "session/ports/device_port.h"
#include "session/reserved/reserved_guard.h"

namespace stowage::session {

class DeviceRoom {
 public:
  /// All must outlive it.
  DeviceRoom(DevicePort& port, ServedArena& arena, ReservedGuard& guard)
      : port_(port), arena_(arena), guard_(guard) {}

  /// Releases upstream's cache to the device. Waits for it.
  void release_upstream();
  /// Upstream may now be able to release pages that were partly in use at its last release.
  void try_all_again() { unreleasable_.store(0, std::memory_order_relaxed); }
  /// Bytes of upstream's cache that its last release could not give back: the free parts of pages in use.
  [[nodiscard]] Bytes pinned() const;
  /// Without a plan, before upstream is asked for `bytes`: if it may grow beyond its peak, releases cached
  /// pieces that are too small, so that it maps no more than necessary.
  void keep_peak_low(Bytes bytes);

  /// The next request of `now`, `bytes` on `stream`, may need memory for a part of the arena. If both
  /// together would be too much, releases upstream's cache or lets upstream serve the request. If neither is
  /// enough, returns the bytes to pass to give_up_idle_for(), else 0.
  Bytes for_arena(allocator::PlannedAllocator& now, Bytes bytes, StreamId stream);
  /// Releases idle arena memory, as far as arena, upstream and `more` would be too much.
  void give_up_idle_for(Bytes more);
  /// After give_up_idle_for(), for the request that for_arena() was asked for.
  void look_again(allocator::PlannedAllocator& now, Bytes bytes, StreamId stream);
  /// Before upstream is asked for an unplanned `bytes` on `stream`: releases cache that does not help, then
  /// idle arena memory.
  void for_upstream(Bytes bytes, StreamId stream);

  /// A plan came or went.
  void restart();
  /// An iteration ended; `clean`: every request was the plan's. True if memory moved back and forth in so
  /// many of the last iterations that the job is better off without its plan.
  bool is_strained(bool clean);

 private:
  void release_upstream_if_worth(const UpstreamUse& use);
  /// The ledger, if a budget limits it; else null.
  [[nodiscard]] const Ledger* limited() const;
  [[nodiscard]] bool fits_budget(const Ledger& ledger, Bytes lacking);
  [[nodiscard]] bool arena_made_way() const;
  void give_up_idle(Bytes wanted);

  DevicePort& port_;
  ServedArena& arena_;
  ReservedGuard& guard_;
  std::atomic<std::uint64_t> unreleasable_{0};  ///< bytes that upstream kept at its last release
  std::atomic<std::uint64_t> arena_gaps_{0};    ///< times that idle memory of the arena made way for upstream
  std::atomic<std::uint64_t> gaps_before_{0};   ///< the same when the last iteration ended
  std::atomic<bool> arena_lacks_{false};        ///< it made way, and lacked memory at the last mark
  Bytes committed_before_{0};                   ///< of the arena, when the last iteration ended
  std::uint64_t strain_ = 0;  ///< rises with iterations in which the arena made way, and falls
};

}  // namespace stowage::session
