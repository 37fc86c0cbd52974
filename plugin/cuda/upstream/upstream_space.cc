#include "plugin/cuda/upstream/upstream_space.h"

#include <algorithm>

#include "plugin/cuda/upstream/torch_versions.h"

namespace stowage::plugin {
namespace {

constexpr Bytes kLargestSmall{1u << 20};  // upstream's small pool serves requests up to this
constexpr c10::MempoolId_t kNoPoolOfTheJobs{0, 0};

void add_free_blocks(const c10::CachingDeviceAllocator::SegmentInfo& segment, FreeSpace& space) {
  std::uintptr_t at = segment.address;
  for (const auto& block : segment.blocks) {
    if (!block.active) space.free.push_back({at, at + block.size});
    at += block.size;
  }
}

void sort(std::vector<AddressRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; });
}

}  // namespace

FreeSpace upstream_space(c10::cuda::CUDACachingAllocator::CUDAAllocator& upstream, c10::DeviceIndex device,
                         cudaStream_t stream, Bytes bytes) {
  const auto snapshot = upstream.snapshot(kNoPoolOfTheJobs, /*include_traces=*/false);
  FreeSpace space;
  for (const auto& segment : snapshot.segments) {
    if (segment.device != device || segment.stream != stream || segment.is_large != (bytes > kLargestSmall) ||
        segment.owner_private_pool_id != kNoPoolOfTheJobs)
      continue;
    space.whole.push_back({segment.address, segment.address + segment.total_size});
    add_free_blocks(segment, space);
  }
  sort(space.whole);
  sort(space.free);
  return space;
}

Bytes upstream_workspaces(c10::cuda::CUDACachingAllocator::CUDAAllocator& upstream, c10::DeviceIndex device) {
  const auto sizes = blas_workspace_sizes();
  const auto snapshot = upstream.snapshot(kNoPoolOfTheJobs, /*include_traces=*/false);
  Bytes sum(0);
  for (const auto& segment : snapshot.segments) {
    if (segment.device != device) continue;
    for (const auto& block : segment.blocks) {
      const bool as_large = std::find(sizes.begin(), sizes.end(), block.requested_size) != sizes.end();
      if (block.allocated && block.requested_size > 0 && as_large) sum = sum + Bytes(block.size);
    }
  }
  return sum;
}

}  // namespace stowage::plugin
