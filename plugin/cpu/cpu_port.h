// The CPU as a session's device: an arena of host memory, and the bytes that PyTorch's CPU allocator has
// given out.
//
// That allocator caches nothing: what is reserved is what tensors hold. There are no streams, so no fences to
// wait for. Thread safety: every member, from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "plugin/cpu/block_cache.h"
#include "session/ports/device_port.h"

namespace stowage::plugin {

class CpuPort final : public session::DevicePort {
 public:
  /// `job`: the job's name for traces; "" takes the process's command line. `free`: upstream's deleter.
  /// Requires: it lives as long as the process.
  CpuPort(std::string job, void (*free)(void*)) : job_(std::move(job)), free_(free) {
    kept_.hold_over_forks();
  }

  TraceInfo describe() override;
  Result<std::unique_ptr<allocator::Arena>> map_arena(Bytes bytes, allocator::Backing backing) override;
  Bytes arena_page() override;
  void release_upstream_cache() override;
  session::UpstreamUse upstream_use() override;
  std::uint64_t record_fence(StreamId stream) override;
  bool fence_passed(std::uint64_t fence) override;
  session::Ledger* ledger() override { return &ledger_; }
  void on_arena_use(std::int64_t delta) override;
  [[nodiscard]] bool commits_on_touch() const override { return true; }
  Bytes decommit(void* address, Bytes bytes) override;

  /// The adaptor took `address` from upstream, or is about to give it back. Counts the bytes the heap holds
  /// for it.
  void note_taken(void* address) noexcept;
  void note_given_back(void* address) noexcept;
  /// The same for a block that upstream handed out before the session existed.
  void note_found(void* address) noexcept;
  /// The most that the heap holds for a request of `bytes`.
  static Bytes most_held(std::size_t bytes) noexcept;
  /// As note_taken, where `reserved` bytes were counted for it before.
  void note_settled(void* address, Bytes reserved) noexcept;
  /// From now on the heap gives large blocks back to the system as soon as they are freed, so that the
  /// process's resident size follows what tensors hold.
  static void return_memory_at_once() noexcept;
  /// Under a limit that is met: keeps a freed block for reuse(), still counted. False: free it.
  bool keep(void* address) noexcept;
  /// A kept block for `bytes`, or null.
  void* reuse(std::size_t bytes) noexcept;
  /// Frees the oldest kept block. False: there is none.
  bool release_oldest() noexcept;

 private:
  void tell(std::int64_t delta) noexcept;
  void note_memory(std::int64_t delta) noexcept;

  std::string job_;
  void (*free_)(void*);
  BlockCache kept_;
  session::Ledger ledger_;
};

}  // namespace stowage::plugin
