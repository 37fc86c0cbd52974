// Offloads tensors of CUDA devices to pinned host memory.
//
// Copies are queued on the current stream, so nobody waits: the tensor's memory goes back to PyTorch's
// allocator behind the copy, in that stream's order. Thread safety: none; the runtime's lock guards it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/units.h"
#include "plugin/cuda/host/pinned_memory.h"
#include "recompute/stores/store.h"

namespace stowage::plugin {

class PinnedStore final : public recompute::Store {
 public:
  /// `limit`: of pinned bytes.
  explicit PinnedStore(Bytes limit) : memory_(std::make_shared<PinnedMemory>(limit)) {}

  Result<std::unique_ptr<recompute::StoredCopy>> put(const void* from, std::uint64_t bytes) override;
  /// Computed from the size alone, as the costs of ops are: the same on every rank.
  [[nodiscard]] std::uint64_t copy_ns(std::uint64_t bytes) const override;
  [[nodiscard]] std::uint64_t held() const override { return *held_; }
  void after_fork(bool /*in_child*/) override {}  // a child cannot use the device

 private:
  std::shared_ptr<PinnedMemory> memory_;
  std::shared_ptr<std::uint64_t> held_ = std::make_shared<std::uint64_t>(0);
};

/// Half of the host memory that is free now, divided among the processes that a launcher says it started on
/// this machine.
Bytes free_host_share();

}  // namespace stowage::plugin
