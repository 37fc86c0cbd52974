#include "allocator/layout/arena_counters.h"

namespace stowage::allocator {

void ArenaCounters::fold() noexcept {
  raise_highest(0);
  raise_highest(1);
  const std::array<Totals, 3> live{live_[0] + live_[1], live_[0], live_[1]};
  const std::array<Totals, 3> waiting{waiting_[0] + waiting_[1], waiting_[0], waiting_[1]};
  for (std::size_t i = 0; i < live.size(); ++i) {
    peaks_.allocated[i].raise(outside_.allocated[i] + highest_[i]);
    peaks_.active[i].raise(outside_.active[i] + waiting[i] + highest_[i]);
  }
  highest_ = live;
}

void ArenaCounters::part(Bytes requested) noexcept {
  fold();
  live_[pool_of(requested)] -= totals_of(requested);
  highest_ = {live_[0] + live_[1], live_[0], live_[1]};  // or it would count as live and waiting
  waiting_[pool_of(requested)] += totals_of(requested);
}

void ArenaCounters::complete(Bytes requested) noexcept {
  fold();
  waiting_[pool_of(requested)] -= totals_of(requested);
}

void ArenaCounters::set_outside(const PoolTotals& now, const PoolTotals& peaks) {
  const std::lock_guard guard(lock_);
  fold();
  outside_ = now;
  for (std::size_t i = 0; i < peaks.allocated.size(); ++i) {
    peaks_.allocated[i].raise(peaks.allocated[i]);
    peaks_.active[i].raise(peaks.active[i]);
  }
}

void ArenaCounters::fill(PoolTallies& tallies, std::int64_t Totals::*field, bool active) const {
  for (std::size_t pool = 0; pool < 2; ++pool) {
    const std::int64_t current = live_[pool].*field + (active ? waiting_[pool].*field : 0);
    const std::int64_t gone = active ? completed(pool).*field - completed_before_[pool].*field
                                     : freed(pool).*field - freed_before_[pool].*field;
    tallies[pool + 1] = {current, 0, allocated_[pool].*field - allocated_before_[pool].*field, gone};
  }
  tallies[0] = {tallies[1].current + tallies[2].current, 0, tallies[1].allocated + tallies[2].allocated,
                tallies[1].freed + tallies[2].freed};
  for (std::size_t i = 0; i < tallies.size(); ++i)
    tallies[i].peak = (active ? peaks_.active : peaks_.allocated)[i].*field;
}

ArenaUse ArenaCounters::use() {
  const std::lock_guard guard(lock_);
  fold();
  ArenaUse use;
  fill(use.blocks, &Totals::blocks, false);
  fill(use.rounded_bytes, &Totals::rounded, false);
  fill(use.active_blocks, &Totals::blocks, true);
  fill(use.active_bytes, &Totals::rounded, true);
  fill(use.requested_bytes, &Totals::requested, true);
  return use;
}

void ArenaCounters::reset_peak() {
  const std::lock_guard guard(lock_);
  fold();
  peaks_ = {};
}

void ArenaCounters::reset_accumulated() {
  const std::lock_guard guard(lock_);
  allocated_before_ = allocated_;
  freed_before_ = {freed(0), freed(1)};
  completed_before_ = {completed(0), completed(1)};
}

}  // namespace stowage::allocator
