// Offloads tensors of CUDA devices to pinned host memory.
//
// Copies run on streams of their own, two of each device, one for each direction: PCI Express and the copy
// engines serve both at once. A copy is behind what the current stream has queued when it is begun. The
// stream that waits for one waits on the device: the host never does, and the tensor's memory goes back to
// PyTorch's allocator in that stream's order. Nothing is copied while a graph is captured. Thread safety:
// none; the runtime's lock guards it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/units.h"
#include "plugin/cuda/host/pinned_memory.h"
#include "recompute/stores/store.h"

namespace stowage::plugin {

/// Of a device, to the store and back.
struct CopyStreams {
  cudaStream_t there = nullptr;
  cudaStream_t back = nullptr;
};

class PinnedStore final : public recompute::Store {
 public:
  /// `limit`: of pinned bytes.
  explicit PinnedStore(Bytes limit) : memory_(std::make_shared<PinnedMemory>(limit)) {}

  /// Computed from the size alone, as the costs of ops are: the same on every rank.
  [[nodiscard]] std::uint64_t copy_ns(std::uint64_t bytes) const override;
  Result<std::unique_ptr<recompute::StoredCopy>> begin_put(const void* from, std::uint64_t bytes) override;
  [[nodiscard]] CopyLanes lanes() const override { return CopyLanes::kEachWay; }
  [[nodiscard]] std::uint64_t capacity() const override;
  [[nodiscard]] std::uint64_t held() const override { return *held_; }
  void after_fork(bool /*in_child*/) override {}  // a child cannot use the device

 private:
  /// Of the current device; nothing: CUDA gives none.
  std::optional<CopyStreams> copy_streams();

  std::shared_ptr<PinnedMemory> memory_;
  std::vector<CopyStreams> streams_;  ///< by device; never destroyed, as the driver may be gone by then
  std::shared_ptr<std::uint64_t> held_ = std::make_shared<std::uint64_t>(0);
};

/// Half of the host memory that is free now, divided among the processes that a launcher says it started on
/// this machine.
Bytes free_host_share();

}  // namespace stowage::plugin
