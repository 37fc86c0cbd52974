// PyTorch's statistics of upstream and the arenas of one CUDA device together, as if they were one
// allocator.
//
// Current values and sums simply add up. A peak of the sum needs both values at the same moment. While an
// arena is mapped, upstream serves few requests, so its statistics are noted after each of its requests and
// frees; the arenas' counters (arena_counters.h) track the peak in between. While none is mapped nothing is
// noted: upstream tracks its own peak, and the peak of the sum is at least that.
// Arena memory counts as reserved in the large pool; blocks count in the small or the large pool by size, as
// in native. An arena counts as a segment unless it is mapped memory, like native's expandable segments.
// Free arena space is reserved and neither active nor inactive_split, as in an expandable segment. Exact,
// except that the free of a block from before the install only shows with upstream's next request.
// Thread safety: every member, from any thread. on_mapped() and on_arena() may be called with
// blocks().lock() held, other members not. Outlives the arenas.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "allocator/layout/arena_counters.h"

namespace stowage::plugin {

class JointStatistics {
 public:
  using Stats = c10::CachingDeviceAllocator::DeviceStats;

  /// The arenas' blocks.
  allocator::ArenaCounters& blocks() noexcept { return blocks_; }
  /// note_upstream() must be called when upstream's figures change.
  [[nodiscard]] bool is_counting() const noexcept { return arenas_.load(std::memory_order_relaxed) != 0; }
  /// Take one before reading upstream's figures, so that older ones never replace newer ones.
  [[nodiscard]] std::uint64_t next_ticket() noexcept { return tickets_.fetch_add(1) + 1; }
  void note_upstream(const Stats& upstream, std::uint64_t ticket);
  /// `bytes` of arena memory were mapped; negative: unmapped. Requires: upstream's figures are noted.
  void on_mapped(std::int64_t bytes) noexcept;
  /// An arena is created (1) or destroyed (-1). Requires: as on_mapped().
  void on_arena(int change, bool expandable) noexcept;

  /// Adds the arenas' statistics to upstream's.
  void add_to(Stats& upstream, std::uint64_t ticket);
  /// Resets peaks. `upstream`: its statistics after its own reset.
  void reset_peak(const Stats& upstream, std::uint64_t ticket);
  /// Resets the accumulated increases and decreases.
  void reset_accumulated();

 private:
  /// One quantity of the arenas as a whole, and its peak together with upstream's.
  struct Amount {
    std::int64_t upstream = 0;
    allocator::Tally arenas;
    void change(std::int64_t by) noexcept;
    void note(const c10::CachingAllocator::Stat& stat) noexcept;
    void raise() noexcept;
    void add_to(c10::CachingAllocator::Stat& stat) const;
  };

  allocator::ArenaCounters blocks_;
  std::atomic<int> arenas_{0};
  std::atomic<std::uint64_t> tickets_{0};
  std::mutex noting_;  ///< taken before all other locks here
  std::uint64_t noted_ = 0;
  std::mutex mapping_;  ///< guards what follows; nothing is called with it held
  Amount reserved_[2];  ///< all, large pool
  Amount segments_[2];  ///< all, large pool
};

}  // namespace stowage::plugin
