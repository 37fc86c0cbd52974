#include "allocator/arena_counters.h"

namespace stowage::allocator {

void ArenaCounters::raise_all_peaks() noexcept {
  raise_peaks(0);
  raise_peaks(1);
}

ArenaUse ArenaCounters::use() {
  const std::lock_guard guard(lock_);
  raise_all_peaks();
  ArenaUse use;
  const auto fill = [&](std::array<Tally, 3>& tallies, std::int64_t Totals::*field) {
    for (std::size_t pool = 0; pool < 2; ++pool) {
      tallies[pool + 1] = {live_[pool].*field, peak_[pool + 1].*field,
                           allocated_[pool].*field - allocated_before_[pool].*field,
                           freed(pool).*field - freed_before_[pool].*field};
    }
    const Tally& small = tallies[1];
    const Tally& large = tallies[2];
    tallies[0] = {small.current + large.current, peak_[0].*field, small.allocated + large.allocated,
                  small.freed + large.freed};
  };
  fill(use.blocks, &Totals::blocks);
  fill(use.rounded_bytes, &Totals::rounded);
  fill(use.requested_bytes, &Totals::requested);
  return use;
}

void ArenaCounters::reset_peak() {
  const std::lock_guard guard(lock_);
  peak_ = {};
  raise_all_peaks();
}

void ArenaCounters::reset_accumulated() {
  const std::lock_guard guard(lock_);
  allocated_before_ = allocated_;
  freed_before_ = {freed(0), freed(1)};
}

}  // namespace stowage::allocator
