#include "plugin/cuda/adaptor/arena_snapshot.h"

#include <cstddef>

namespace stowage::plugin {

using c10::CachingDeviceAllocator::BlockInfo;
using c10::CachingDeviceAllocator::SegmentInfo;

SegmentInfo arena_segment(c10::DeviceIndex device, const void* base, Bytes mapped,
                          const std::vector<ArenaBlock>& blocks, bool expandable,
                          const ContextOf& context_of) {
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
    info.active = true;
    info.allocated = !block.waiting;
    info.context_when_allocated = context_of(static_cast<const std::byte*>(base) + block.offset.value());
    if (info.allocated) segment.allocated_size += block.rounded.value();
    segment.active_size += block.rounded.value();
    segment.requested_size += block.requested.value();
    segment.blocks.push_back(std::move(info));
    end = block.offset.value() + block.rounded.value();
  }
  add_gap(mapped.value() - end);
  return segment;
}

}  // namespace stowage::plugin
