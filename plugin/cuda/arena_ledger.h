// What PyTorch wants to know of each live arena block and the session does not tell: requested bytes, stream.
//
// ArenaLedger holds one word per granule of one arena, found by index. With the totals of a device
// (arena_counters.h) it feeds memory_stats and _snapshot (cuda_statistics.h). Thread safety: every member,
// from any thread. A block's word is written by its owner only: the thread that allocates it and, later, the
// one that frees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "allocator/arena_counters.h"
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
  /// Notes the free and returns the block as it was; rounded is 0 if none began there. No atomic exchange:
  /// the word is the caller's alone, and two frees of one block at once end the process in the planned
  /// allocator. Requires: covers(address).
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

/// What a device's arenas hold, as PyTorch counts it.
using allocator::ArenaCounters;
using allocator::ArenaUse;
using allocator::kSmallPoolLimit;
using allocator::Tally;

}  // namespace stowage::plugin
