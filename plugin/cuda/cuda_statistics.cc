#include "plugin/cuda/cuda_statistics.h"

#include <algorithm>

#include "plugin/cuda/cuda_device.h"

namespace stowage::plugin {
namespace {

using allocator::Tally;
using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingDeviceAllocator::BlockInfo;
using c10::CachingDeviceAllocator::DeviceStats;
using c10::CachingDeviceAllocator::SegmentInfo;

std::int64_t signed_bytes(Bytes bytes) { return static_cast<std::int64_t>(bytes.value()); }

void add(Stat& stat, const Tally& arena) {
  // Upstream's own peak may lie before the arena was filled, so the two peaks must not simply be added.
  stat.peak = std::max({stat.peak, stat.current + arena.peak, stat.current + arena.current});
  stat.current += arena.current;
  stat.allocated += arena.allocated;
  stat.freed += arena.freed;
}

void add(StatArray& stats, const std::array<Tally, 3>& arena) {
  for (std::size_t pool = 0; pool < stats.size(); ++pool) add(stats[pool], arena[pool]);
}

/// All of `amount` is of the large pool.
std::array<Tally, 3> large_only(std::int64_t amount) {
  const Tally tally{amount, amount, amount, 0};
  return {tally, Tally{}, tally};
}

}  // namespace

ArenaFigures arena_figures(CudaDevice& device) {
  return {device.counters.use(), device.session.arena_bytes(), device.session.arena_live_bytes(),
          device.session.peak_bytes()};
}

void add_arena(DeviceStats& stats, const ArenaFigures& arena) {
  if (arena.mapped == Bytes{0} && arena.use.blocks[0].allocated == 0 && arena.use.blocks[0].current == 0)
    return;
  // Blocks that wait for another stream are active and no longer allocated. Their sizes are not kept by pool.
  const std::int64_t waiting =
      std::max<std::int64_t>(0, signed_bytes(arena.active) - arena.use.rounded_bytes[0].current);
  std::array<Tally, 3> active = arena.use.rounded_bytes;
  for (const std::size_t pool : {0, 2}) active[pool].current += waiting;

  add(stats.allocation, arena.use.blocks);
  add(stats.active, arena.use.blocks);
  add(stats.allocated_bytes, arena.use.rounded_bytes);
  add(stats.active_bytes, active);
  add(stats.requested_bytes, arena.use.requested_bytes);
  add(stats.segment, large_only(arena.mapped > Bytes{0} ? 1 : 0));
  add(stats.reserved_bytes, large_only(signed_bytes(arena.mapped)));
  for (StatArray* bytes : {&stats.allocated_bytes, &stats.active_bytes}) {
    (*bytes)[0].peak = std::max((*bytes)[0].peak, signed_bytes(arena.sum_peak));
  }
}

SegmentInfo arena_segment(c10::DeviceIndex device, const void* base, Bytes mapped,
                          const std::vector<ArenaBlock>& blocks, bool expandable) {
  SegmentInfo segment;
  segment.device = device;
  segment.address = reinterpret_cast<std::size_t>(base);
  segment.total_size = mapped.value();
  segment.is_large = true;
  segment.is_expandable = expandable;
  const auto add_gap = [&](std::uint64_t bytes) {
    if (bytes == 0) return;
    BlockInfo gap;
    gap.size = bytes;
    segment.blocks.push_back(std::move(gap));
  };
  std::uint64_t end = 0;
  for (const ArenaBlock& block : blocks) {
    add_gap(block.offset.value() - end);
    BlockInfo info;
    info.size = block.rounded.value();
    info.requested_size = block.requested.value();
    info.allocated = info.active = true;
    segment.blocks.push_back(std::move(info));
    segment.allocated_size += block.rounded.value();
    segment.requested_size += block.requested.value();
    end = block.offset.value() + block.rounded.value();
  }
  segment.active_size = segment.allocated_size;
  add_gap(mapped.value() - end);
  return segment;
}

}  // namespace stowage::plugin
