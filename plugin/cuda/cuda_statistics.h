// PyTorch's memory statistics and snapshot with the arena added. Pure functions.
//
// The arena counts as one segment of the large pool; its blocks belong to the small or the large pool by
// size, as native's would. Arena space that is free is reserved and neither active nor inactive_split, as in
// an expandable segment. Current values and sums are exact. The peak of allocated and active bytes is the
// session's, which is that of the sum; other peaks are exact while upstream's share does not change, as in
// planned mode it does not.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <vector>

#include "allocator/planned_allocator.h"

namespace stowage::plugin {

struct CudaDevice;
using allocator::ArenaBlock;
using allocator::ArenaUse;

/// What a device's arena adds.
struct ArenaFigures {
  ArenaUse use;
  Bytes mapped{0};    ///< backed by physical memory
  Bytes active{0};    ///< in blocks that are allocated, or freed and still waited for
  Bytes sum_peak{0};  ///< peak of upstream and arena together; 0 when not known
};

ArenaFigures arena_figures(CudaDevice& device);

/// Adds the arena to upstream's `stats`.
void add_arena(c10::CachingDeviceAllocator::DeviceStats& stats, const ArenaFigures& arena);

/// The arena's entry of a snapshot: one segment, its live blocks and the gaps between them.
/// Requires: `blocks` in order of offset, without overlaps, within `mapped`.
c10::CachingDeviceAllocator::SegmentInfo arena_segment(c10::DeviceIndex device, const void* base,
                                                       Bytes mapped, const std::vector<ArenaBlock>& blocks,
                                                       bool expandable);

}  // namespace stowage::plugin
