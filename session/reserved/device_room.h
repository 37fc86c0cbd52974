// Room on the device for arena and upstream: memory passes between the two, so that both together never hold
// more than the job was seen to need without a plan (reserved_guard.h).
//
// A new arena has addresses and no memory. A segment gets memory when the plan first wants it; what upstream
// caches goes back to the device before that where both would be too much. The other way round, an
// evaluation that no plan knows finds the arena idle: where upstream would have to grow beyond the need, idle
// segments give their memory back first. Each pass waits for the device. A job that would do so all the time
// is better off without its plan.
//
// Thread safety: for_arena(), keep_peak_low() and release_upstream() from any thread; the rest is the
// conductor's.
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

  /// Gives upstream's cache back to the device. Waits for the device.
  void release_upstream();
  /// Upstream may now be able to give back what it could not the last time: pages that were partly in use.
  void try_all_again() { unreleasable_.store(0, std::memory_order_relaxed); }
  /// Without a plan: upstream, about to be asked for `bytes`, may take more than it ever had. With the pieces
  /// gone that are too small it maps no more than it must.
  void keep_peak_low(Bytes bytes);

  /// The next request of `now`, `bytes` on `stream`, may need memory for a part of the arena; upstream's
  /// cache goes, or upstream serves the request, where both together would be too much. Where neither is
  /// enough: the bytes for which give_up_idle_for() is to be called. Else 0.
  Bytes for_arena(allocator::PlannedAllocator& now, Bytes bytes, StreamId stream);
  /// Frees idle memory of the arena as far as both together and `more` would be too much.
  void give_up_idle_for(Bytes more);
  /// Upstream is about to be asked for `bytes` on `stream`, off the plan: what it caches to no use goes, then
  /// idle memory of the arena.
  void for_upstream(Bytes bytes, StreamId stream);

  /// A plan came or went.
  void restart();
  /// An iteration ended; `clean`: every request was the plan's. True if memory has passed to and fro in so
  /// many of the last iterations that the job is better off without its plan.
  bool is_strained(bool clean);

 private:
  void release_upstream_if_worth(const UpstreamUse& use);
  [[nodiscard]] bool arena_made_way() const;
  void give_up_idle(Bytes wanted);

  DevicePort& port_;
  ServedArena& arena_;
  ReservedGuard& guard_;
  std::atomic<std::uint64_t> unreleasable_{0};  ///< bytes that upstream kept when its cache last went
  std::atomic<std::uint64_t> arena_gaps_{0};   ///< times that idle memory of the arena was freed for upstream
  std::atomic<std::uint64_t> gaps_before_{0};  ///< the same when the last iteration ended
  std::atomic<bool> arena_lacks_{false};       ///< since it made way, and when the last iteration ended
  Bytes committed_before_{0};                  ///< of the arena, when the last iteration ended
  std::uint64_t strain_ = 0;  ///< rises with iterations in which the arena made way, and falls
};

}  // namespace stowage::session
