// The arena's part of PyTorch's memory snapshot. Pure functions; statistics are in joint_statistics.h.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <functional>
#include <memory>
#include <vector>

#include "allocator/planned_allocator.h"

namespace stowage::plugin {

using allocator::ArenaBlock;

/// What was gathered when the block at an address was allocated, or null.
using ContextOf = std::function<std::shared_ptr<c10::GatheredContext>(const void* address)>;

/// The arena's entry of a snapshot: one segment, its blocks and the gaps between them.
/// Requires: `blocks` in order of offset, without overlaps, within `mapped`.
c10::CachingDeviceAllocator::SegmentInfo arena_segment(c10::DeviceIndex device, const void* base,
                                                       Bytes mapped, const std::vector<ArenaBlock>& blocks,
                                                       bool expandable, const ContextOf& context_of);

}  // namespace stowage::plugin
