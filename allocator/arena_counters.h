// What the job holds in a device's arenas, as PyTorch counts it: blocks, rounded and requested bytes, by
// pool.
//
// The planned allocator counts under its own lock, which is this object's: a lock of the counters' own would
// cost as much again as a hit. The object outlives arenas and plans, so that sums go on across them.
// Thread safety: use() and the resets, from any thread; add() and remove() by whoever holds lock().
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "allocator/spin_lock.h"
#include "core/units.h"

namespace stowage::allocator {

/// One quantity as PyTorch counts it (c10::CachingAllocator::Stat, without its header).
struct Tally {
  std::int64_t current = 0;
  std::int64_t peak = 0;
  std::int64_t allocated = 0;  ///< sum of all increases
  std::int64_t freed = 0;      ///< sum of all decreases
};

/// Blocks up to this size belong to PyTorch's small pool.
inline constexpr Bytes kSmallPoolLimit{1u << 20};

/// What a device's arenas hold: [0] all, [1] blocks of the small pool's sizes, [2] of the large pool's.
struct ArenaUse {
  std::array<Tally, 3> blocks;
  std::array<Tally, 3> rounded_bytes;
  std::array<Tally, 3> requested_bytes;
};

class ArenaCounters {
 public:
  /// Guards the counters and, with them, the planned allocator that counts here.
  [[nodiscard]] SpinLock& lock() noexcept { return lock_; }

  /// A block was given out. Requires: lock() is held, or nobody else knows the object.
  void add(Bytes requested) noexcept {
    const std::size_t pool = pool_of(requested);
    const Totals block = totals_of(requested);
    allocated_[pool] += block;
    live_[pool] += block;
  }
  /// A block was freed. Requires: as add(); it was added.
  void remove(Bytes requested) noexcept {
    const std::size_t pool = pool_of(requested);
    raise_peaks(pool);  // a peak is passed only by going down, so that add() need not look
    live_[pool] -= totals_of(requested);
  }
  [[nodiscard]] ArenaUse use();
  void reset_peak();
  /// The sums of increases and decreases count from now on.
  void reset_accumulated();

 private:
  struct Totals {
    std::int64_t blocks = 0;
    std::int64_t rounded = 0;
    std::int64_t requested = 0;
    void operator+=(const Totals& more) noexcept {
      blocks += more.blocks;
      rounded += more.rounded;
      requested += more.requested;
    }
    void operator-=(const Totals& less) noexcept {
      blocks -= less.blocks;
      rounded -= less.rounded;
      requested -= less.requested;
    }
  };
  using Pools = std::array<Totals, 2>;  ///< small, large

  static std::size_t pool_of(Bytes requested) noexcept {
    return round_up(requested) > kSmallPoolLimit ? 1 : 0;
  }
  static Totals totals_of(Bytes requested) noexcept {
    return {1, static_cast<std::int64_t>(round_up(requested).value()),
            static_cast<std::int64_t>(requested.value())};
  }
  static void raise(Totals& peak, const Totals& current) noexcept {
    if (current.blocks > peak.blocks) peak.blocks = current.blocks;
    if (current.rounded > peak.rounded) peak.rounded = current.rounded;
    if (current.requested > peak.requested) peak.requested = current.requested;
  }
  /// What was freed so far, which is what was allocated and does not live.
  [[nodiscard]] Totals freed(std::size_t pool) const noexcept {
    Totals gone = allocated_[pool];
    gone -= live_[pool];
    return gone;
  }
  /// Of the sum and of `pool`.
  void raise_peaks(std::size_t pool) noexcept {
    Totals sum = live_[0];
    sum += live_[1];
    raise(peak_[pool + 1], live_[pool]);
    raise(peak_[0], sum);
  }
  void raise_all_peaks() noexcept;

  alignas(64) SpinLock lock_;  ///< on cache lines of its own with what it guards
  Pools live_{};
  Pools allocated_{};
  std::array<Totals, 3> peak_{};  ///< all, small, large
  Pools allocated_before_{};      ///< allocated_ at the last reset_accumulated
  Pools freed_before_{};          ///< and freed()
};

}  // namespace stowage::allocator
