// What PyTorch wants to know of each live arena block and the session does not keep: requested bytes, stream,
// pool.
//
// ArenaLedger holds one word per granule of one arena, found by index, and ArenaCounters the totals of a
// device. Together they feed memory_stats and _snapshot (cuda_statistics.h, cuda_snapshot.h). Thread safety:
// every member, from any thread. A block's word is written by its owner only: the thread that allocates it
// and, later, the one that frees it. Counters sit behind a spin lock held for some ten instructions.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "core/units.h"

namespace stowage::plugin {

/// A live block of the arena.
struct ArenaBlock {
  Offset offset{0};
  Bytes rounded{0};
  Bytes requested{0};
  StreamId stream{0};
  friend bool operator==(const ArenaBlock&, const ArenaBlock&) = default;
};

class ArenaLedger {
 public:
  /// For the arena [base, base + reserved). Takes address space only; pages come as blocks are noted.
  ArenaLedger(void* base, Bytes reserved);
  ~ArenaLedger();
  ArenaLedger(const ArenaLedger&) = delete;
  ArenaLedger& operator=(const ArenaLedger&) = delete;

  [[nodiscard]] bool covers(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - base_ < reserved_;
  }
  [[nodiscard]] void* base() const noexcept { return reinterpret_cast<void*>(base_); }
  [[nodiscard]] Bytes reserved() const noexcept { return Bytes{reserved_}; }
  /// Notes that `address` was given out. Requires: covers(address); 0 < requested < 2 TiB; stream < 2^22.
  void note_allocated(const void* address, Bytes requested, StreamId stream) noexcept {
    words_[index(address)].store(pack(requested, stream), std::memory_order_relaxed);
  }
  /// Notes the free and returns the block as it was; rounded is 0 if none began there. No atomic exchange: the
  /// word is the caller's alone, and two frees of one block at once end the process in the planned allocator.
  /// Requires: covers(address).
  ArenaBlock note_freed(const void* address) noexcept {
    std::atomic<std::uint64_t>& held = words_[index(address)];
    const std::uint64_t word = held.load(std::memory_order_relaxed);
    held.store(0, std::memory_order_relaxed);
    return unpack(index(address), word);
  }
  /// The live block that begins at `address`; rounded is 0 if there is none. Requires: covers(address).
  [[nodiscard]] ArenaBlock block_at(const void* address) const noexcept {
    return unpack(index(address), words_[index(address)].load(std::memory_order_relaxed));
  }
  /// Gives the table's pages back to the system; every block then reads as not there. The object stays valid.
  void retire() noexcept;
  /// All live blocks within the first `mapped` bytes, in order of offset.
  [[nodiscard]] std::vector<ArenaBlock> live_blocks(Bytes mapped) const;

 private:
  // A word is 0 for "no block begins here", else requested bytes shifted by 22, and the stream.
  static std::uint64_t pack(Bytes requested, StreamId stream) noexcept {
    return requested.value() << 22 | stream.value();
  }
  static ArenaBlock unpack(std::size_t index, std::uint64_t word) noexcept {
    const Bytes requested{word >> 22};
    return {Offset{index * kGranule.value()}, round_up(requested), requested,
            StreamId{static_cast<std::uint32_t>(word & ((1u << 22) - 1))}};
  }
  [[nodiscard]] std::size_t index(const void* address) const noexcept {
    return (reinterpret_cast<std::uintptr_t>(address) - base_) / kGranule.value();
  }

  std::uintptr_t base_;
  std::uint64_t reserved_;
  std::atomic<std::uint64_t>* words_;
};

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
  void add(Bytes requested) noexcept {
    const Guard guard(busy_);
    Totals& pool = allocated_[pool_of(requested)];
    pool.blocks += 1;
    pool.rounded += static_cast<std::int64_t>(round_up(requested).value());
    pool.requested += static_cast<std::int64_t>(requested.value());
  }
  void remove(Bytes requested) noexcept {
    const Guard guard(busy_);
    raise_peaks();  // a peak is passed only by going down, so that add() need not look
    Totals& pool = freed_[pool_of(requested)];
    pool.blocks += 1;
    pool.rounded += static_cast<std::int64_t>(round_up(requested).value());
    pool.requested += static_cast<std::int64_t>(requested.value());
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
  };
  using Pools = std::array<Totals, 2>;  ///< small, large

  class Guard {
   public:
    explicit Guard(std::atomic_flag& busy) : busy_(busy) {
      while (busy_.test_and_set(std::memory_order_acquire)) wait(busy_);
    }
    ~Guard() { busy_.clear(std::memory_order_release); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    static void wait(const std::atomic_flag& busy) noexcept;
    std::atomic_flag& busy_;
  };

  static std::size_t pool_of(Bytes requested) noexcept {
    return round_up(requested) > kSmallPoolLimit ? 1 : 0;
  }
  static void raise(Totals& peak, const Totals& current) noexcept;
  [[nodiscard]] Totals current(std::size_t pool) const noexcept;
  void raise_peaks() noexcept;

  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  Pools allocated_{};
  Pools freed_{};
  Pools allocated_before_{};  ///< allocated_ at the last reset_accumulated
  Pools freed_before_{};
  std::array<Totals, 3> peak_{};  ///< all, small, large
};

}  // namespace stowage::plugin
