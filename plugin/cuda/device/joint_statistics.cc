#include "plugin/cuda/device/joint_statistics.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace stowage::plugin {
namespace {

using allocator::PoolTallies;
using allocator::PoolTotals;
using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using Stats = JointStatistics::Stats;

constexpr std::array<std::size_t, 2> kPools{0, 2};  // of an arena: all, large

PoolTotals totals_of(const Stats& stats, std::int64_t Stat::*part) {
  PoolTotals totals;
  for (std::size_t i = 0; i < totals.allocated.size(); ++i) {
    totals.allocated[i] = {stats.allocation[i].*part, stats.allocated_bytes[i].*part, 0};
    totals.active[i] = {stats.active[i].*part, stats.active_bytes[i].*part, stats.requested_bytes[i].*part};
  }
  return totals;
}

void add(StatArray& stats, const PoolTallies& arenas) {
  for (std::size_t i = 0; i < stats.size(); ++i) {
    stats[i].current += arenas[i].current;
    stats[i].allocated += arenas[i].allocated;
    stats[i].freed += arenas[i].freed;
    stats[i].peak = arenas[i].peak;  // already the peak of both
  }
}

}  // namespace

void JointStatistics::Amount::raise() noexcept {
  arenas.peak = std::max(arenas.peak, upstream + arenas.current);
}

void JointStatistics::Amount::change(std::int64_t by) noexcept {
  arenas.current += by;
  (by > 0 ? arenas.allocated : arenas.freed) += by > 0 ? by : -by;
  raise();
}

void JointStatistics::Amount::note(const Stat& stat) noexcept {
  upstream = stat.current;
  arenas.peak = std::max(arenas.peak, stat.peak);
  raise();
}

void JointStatistics::Amount::add_to(Stat& stat) const {
  stat.current += arenas.current;
  stat.allocated += arenas.allocated;
  stat.freed += arenas.freed;
  stat.peak = arenas.peak;
}

void JointStatistics::note_upstream(const Stats& upstream, std::uint64_t ticket) {
  const std::lock_guard noting(noting_);
  if (ticket <= noted_) return;
  noted_ = ticket;
  blocks_.set_outside(totals_of(upstream, &Stat::current), totals_of(upstream, &Stat::peak));
  const std::lock_guard mapping(mapping_);
  for (std::size_t i = 0; i < kPools.size(); ++i) {
    reserved_[i].note(upstream.reserved_bytes[kPools[i]]);
    segments_[i].note(upstream.segment[kPools[i]]);
  }
}

void JointStatistics::on_mapped(std::int64_t bytes) noexcept {
  const std::lock_guard mapping(mapping_);
  for (Amount& amount : reserved_) amount.change(bytes);
}

void JointStatistics::on_arena(int change, bool expandable) noexcept {
  arenas_.fetch_add(change, std::memory_order_relaxed);
  if (expandable) return;
  const std::lock_guard mapping(mapping_);
  for (Amount& amount : segments_) amount.change(change);
}

void JointStatistics::add_to(Stats& upstream, std::uint64_t ticket) {
  note_upstream(upstream, ticket);
  const allocator::ArenaUse use = blocks_.use();
  add(upstream.allocation, use.blocks);
  add(upstream.allocated_bytes, use.rounded_bytes);
  add(upstream.active, use.active_blocks);
  add(upstream.active_bytes, use.active_bytes);
  add(upstream.requested_bytes, use.requested_bytes);
  const std::lock_guard mapping(mapping_);
  for (std::size_t i = 0; i < kPools.size(); ++i) {
    reserved_[i].add_to(upstream.reserved_bytes[kPools[i]]);
    segments_[i].add_to(upstream.segment[kPools[i]]);
  }
}

void JointStatistics::reset_peak(const Stats& upstream, std::uint64_t ticket) {
  note_upstream(upstream, ticket);
  blocks_.reset_peak();
  const std::lock_guard mapping(mapping_);
  for (auto* amounts : {&reserved_, &segments_}) {
    for (Amount& amount : *amounts) amount.arenas.peak = amount.upstream + amount.arenas.current;
  }
}

void JointStatistics::reset_accumulated() {
  blocks_.reset_accumulated();
  const std::lock_guard mapping(mapping_);
  for (auto* amounts : {&reserved_, &segments_}) {
    for (Amount& amount : *amounts) amount.arenas.allocated = amount.arenas.freed = 0;
  }
}

}  // namespace stowage::plugin
