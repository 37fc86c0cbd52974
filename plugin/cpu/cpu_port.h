// The CPU as a session's device: an arena of host memory, and the bytes that PyTorch's CPU allocator has
// given out.
//
// That allocator caches nothing: what is reserved is what tensors hold. There are no streams, so no fences to
// wait for. Thread safety: every member, from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "plugin/device_port.h"

namespace stowage::plugin {

class CpuPort final : public DevicePort {
 public:
  /// `job`: the job's name for traces; "" takes the process's command line.
  explicit CpuPort(std::string job) : job_(std::move(job)) {}

  TraceInfo describe() override;
  Result<std::unique_ptr<allocator::Arena>> map_arena(Bytes bytes) override;
  void release_upstream_cache() override;
  UpstreamUse upstream_use() override;
  std::uint64_t record_fence(StreamId stream) override;
  bool fence_passed(std::uint64_t fence) override;

  /// The adaptor took `address` from upstream, or is about to give it back. Counts the bytes the heap holds
  /// for it.
  void note_taken(void* address) noexcept;
  void note_given_back(void* address) noexcept;

 private:
  std::string job_;
  std::atomic<std::uint64_t> held_{0};
  std::atomic<std::uint64_t> peak_{0};
};

}  // namespace stowage::plugin
