// What the job holds in a device's arenas, and the peaks of that and of what it holds elsewhere together, as
// PyTorch counts it: blocks, rounded and requested bytes, by pool.
//
// The planned allocator counts under its own lock, which is this object's: a lock of the counters' own would
// cost as much again as a hit. What lies outside the arenas, and what was freed and waits for other streams,
// changes rarely in comparison. So the hot path keeps the peak of live blocks since the last such change, and
// each change adds what held meanwhile. The object outlives arenas and plans, so that sums span them.
// Thread safety: lock() guards add(), remove(), take_back(), part() and complete(); all else takes it itself.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "allocator/layout/spin_lock.h"
#include "core/units.h"

namespace stowage::allocator {

/// One quantity as PyTorch counts it (c10::CachingAllocator::Stat, without its header).
struct Tally {
  std::int64_t current = 0;
  std::int64_t peak = 0;       ///< of arenas and outside together
  std::int64_t allocated = 0;  ///< sum of all increases
  std::int64_t freed = 0;      ///< sum of all decreases
};

/// Blocks up to this size belong to PyTorch's small pool.
inline constexpr Bytes kSmallPoolLimit{1u << 20};

/// [0] all, [1] blocks of the small pool's sizes, [2] of the large pool's.
using PoolTallies = std::array<Tally, 3>;

/// What a device's arenas hold. Active blocks are the allocated ones and those that wait, once freed, for
/// other streams; requested bytes are of active blocks.
struct ArenaUse {
  PoolTallies blocks;
  PoolTallies rounded_bytes;
  PoolTallies active_blocks;
  PoolTallies active_bytes;
  PoolTallies requested_bytes;
};

/// Blocks and their bytes, at one moment.
struct Totals {
  std::int64_t blocks = 0;
  std::int64_t rounded = 0;
  std::int64_t requested = 0;

  Totals& operator+=(const Totals& more) noexcept {
    blocks += more.blocks;
    rounded += more.rounded;
    requested += more.requested;
    return *this;
  }
  Totals& operator-=(const Totals& less) noexcept {
    blocks -= less.blocks;
    rounded -= less.rounded;
    requested -= less.requested;
    return *this;
  }
  friend Totals operator+(Totals one, const Totals& other) noexcept { return one += other; }
  friend Totals operator-(Totals one, const Totals& other) noexcept { return one -= other; }
  /// Each quantity becomes at least that of `other`.
  void raise(const Totals& other) noexcept {
    if (other.blocks > blocks) blocks = other.blocks;
    if (other.rounded > rounded) rounded = other.rounded;
    if (other.requested > requested) requested = other.requested;
  }
};

/// What lies outside the arenas, or the peaks of something: all, small pool, large pool.
struct PoolTotals {
  std::array<Totals, 3> allocated;
  std::array<Totals, 3> active;
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
    raise_highest(pool);  // a peak is passed only by going down, so that add() need not look
    live_[pool] -= totals_of(requested);
  }
  /// Cancels add() of a block that was not handed out. Requires: as remove().
  void take_back(Bytes requested) noexcept {
    const std::size_t pool = pool_of(requested);
    allocated_[pool] -= totals_of(requested);
    live_[pool] -= totals_of(requested);
  }
  /// A block was freed, and other streams still use it. Requires: as remove().
  void part(Bytes requested) noexcept;
  /// No stream uses a block any more that part() was called for. Requires: as add().
  void complete(Bytes requested) noexcept;

  /// `now` lies outside, and was more at times: `peaks` since the last reset_peak().
  void set_outside(const PoolTotals& now, const PoolTotals& peaks);
  [[nodiscard]] ArenaUse use();
  /// Peaks count from now on.
  void reset_peak();
  /// The sums of increases and decreases count from now on.
  void reset_accumulated();

 private:
  using Pools = std::array<Totals, 2>;  ///< small, large

  static std::size_t pool_of(Bytes requested) noexcept {
    return round_up(requested) > kSmallPoolLimit ? 1 : 0;
  }
  static Totals totals_of(Bytes requested) noexcept {
    return {1, static_cast<std::int64_t>(round_up(requested).value()),
            static_cast<std::int64_t>(requested.value())};
  }
  /// What was allocated and does not live: freed so far; and of that, no longer waited for.
  [[nodiscard]] Totals freed(std::size_t pool) const noexcept { return allocated_[pool] - live_[pool]; }
  [[nodiscard]] Totals completed(std::size_t pool) const noexcept { return freed(pool) - waiting_[pool]; }
  /// Of the sum and of `pool`.
  void raise_highest(std::size_t pool) noexcept {
    highest_[pool + 1].raise(live_[pool]);
    highest_[0].raise(live_[0] + live_[1]);
  }
  /// Counts what held since the last call into the peaks.
  void fold() noexcept;
  void fill(PoolTallies& tallies, std::int64_t Totals::*field, bool active) const;

  alignas(64) SpinLock lock_;        ///< on cache lines of its own with what it guards
  Pools live_{};                     ///< allocated and not freed
  Pools allocated_{};                ///< all that ever were
  std::array<Totals, 3> highest_{};  ///< of live_ since the last fold(): all, small, large
  // Rarely touched.
  Pools waiting_{};  ///< freed, and still used by other streams
  PoolTotals outside_{};
  PoolTotals peaks_{};        ///< of arenas and outside together, until the last fold()
  Pools allocated_before_{};  ///< allocated_ at the last reset_accumulated
  Pools freed_before_{};      ///< and freed()
  Pools completed_before_{};  ///< and completed()
};

}  // namespace stowage::allocator
