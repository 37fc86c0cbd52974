// What upstream and the arenas of one CUDA device hold together: PyTorch's statistics of both as one
// allocator's.
//
// Current values and sums simply add up. A peak of the sum needs both at one moment. Where an arena is
// mapped, upstream is asked rarely, so its figures are noted after each of its requests and frees, and the
// arenas' counters (arena_counters.h) keep their peaks in between. Where none is mapped nothing need be
// noted: the peak of the sum is at least upstream's own, which upstream keeps.
// What is reserved is the large pool's; blocks belong to the small or the large pool by size, as native's
// would. An arena counts as a segment unless it is mapped memory: native's expandable segments do not either.
// Arena space that is free is reserved and neither active nor inactive_split, as in an expandable segment.
// Exact but for a block from before Stowage was installed: its free is seen with upstream's next request.
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
  /// Upstream's figures are to be noted when they change.
  [[nodiscard]] bool is_counting() const noexcept { return arenas_.load(std::memory_order_relaxed) != 0; }
  /// Taken before upstream's figures are read, so that older ones never replace newer ones.
  [[nodiscard]] std::uint64_t next_ticket() noexcept { return tickets_.fetch_add(1) + 1; }
  void note_upstream(const Stats& upstream, std::uint64_t ticket);
  /// So many bytes of arena memory came, or went where negative. Requires: upstream's figures are noted.
  void on_mapped(std::int64_t bytes) noexcept;
  /// An arena begins (1) or ends (-1). Requires: as on_mapped().
  void on_arena(int change, bool expandable) noexcept;

  /// Upstream's statistics become those of both.
  void add_to(Stats& upstream, std::uint64_t ticket);
  /// Peaks count from now on. `upstream`: after its own reset.
  void reset_peak(const Stats& upstream, std::uint64_t ticket);
  /// Sums of increases and decreases count from now on.
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
