#include "plugin/cuda/host/pinned_memory.h"

namespace stowage::plugin {

bool put_in_order(cudaStream_t sooner, cudaStream_t later) {
  if (sooner == later) return true;
  cudaEvent_t done = nullptr;
  if (cudaEventCreateWithFlags(&done, cudaEventDisableTiming) != cudaSuccess) return false;
  const bool ordered =
      cudaEventRecord(done, sooner) == cudaSuccess && cudaStreamWaitEvent(later, done, 0) == cudaSuccess;
  static_cast<void>(cudaEventDestroy(done));
  return ordered;
}

// Not where the process ends: the driver may be gone.
PinnedMemory::~PinnedMemory() {
  for (const Block& block : blocks_) static_cast<void>(cudaFreeHost(block.base));
}

bool PinnedMemory::add_block(cudaStream_t stream) {
  if (pinned() + kBlock > limit_) return false;
  void* base = nullptr;
  if (cudaHostAlloc(&base, kBlock, cudaHostAllocPortable) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // it is ours, not the job's
    return false;
  }
  blocks_.push_back({static_cast<std::byte*>(base), stream});
  blocks_.back().extents.grow(kBlock);
  return true;
}

std::optional<PinnedMemory::Piece> PinnedMemory::take(std::uint64_t bytes, cudaStream_t stream) {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    Block& block = blocks_[i];
    if (block.stream != stream) {
      if (block.extents.used() > 0 || !put_in_order(block.stream, stream)) continue;
      block.stream = stream;
    }
    if (const auto extent = block.extents.take(bytes)) return Piece{i, *extent};
  }
  if (!add_block(stream)) return std::nullopt;
  return Piece{blocks_.size() - 1, *blocks_.back().extents.take(bytes)};
}

}  // namespace stowage::plugin
