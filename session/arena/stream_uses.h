// Cross-stream uses of live addresses, and frees deferred until those streams have passed them.
//
// Thread safety: any thread; one mutex, never held while the port is called. The checks on the hot path
// (any_noted, any_waiting, any_in_arena) are one atomic load.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/units.h"
#include "session/ports/device_port.h"

namespace stowage::session {

class StreamUses {
 public:
  /// The end of `stream`'s work when its fence was recorded. A stream passes its fences in order.
  struct Fence {
    StreamId stream{0};
    std::uint64_t id = 0;
  };
  /// A free that waits for `fences`.
  struct Waiting {
    void* address = nullptr;
    bool in_arena = false;
    std::vector<Fence> fences;
  };

  /// record_stream was called: `stream` uses `address` too.
  void note(void* address, StreamId stream);
  /// Removes and returns the extra streams of `address`. Empty for nearly every address.
  std::vector<StreamId> take(void* address);
  /// The free of `address` is complete once every one of `fences` has passed.
  void wait(Waiting waiting);
  /// True if a free of `address` was waiting: it is complete, since upstream reuses the address.
  bool forget(void* address);
  /// Removes and returns all frees whose fences have passed. Asks `port` without our lock, and per stream
  /// only up to the first fence that has not passed.
  std::vector<Waiting> passed(DevicePort& port);

  /// The fences that frees in the arena wait for.
  [[nodiscard]] std::vector<std::uint64_t> arena_fences() const;

  [[nodiscard]] bool any_noted() const { return noted_.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] bool any_waiting() const { return waiting_count_.load(std::memory_order_relaxed) != 0; }
  /// Upstream has blocks that waited, and was not asked for memory since they are done: only then does it
  /// look.
  [[nodiscard]] bool upstream_owes() const { return upstream_owes_.load(std::memory_order_relaxed); }
  /// Upstream was asked for memory.
  void upstream_looked();
  [[nodiscard]] bool any_in_arena() const { return in_arena_.load(std::memory_order_relaxed) != 0; }

 private:
  std::atomic<std::size_t> noted_{0};
  std::atomic<std::size_t> waiting_count_{0};
  std::atomic<bool> upstream_owes_{false};
  std::atomic<std::size_t> in_arena_{0};  ///< of the waiting frees
  mutable std::mutex mutex_;
  std::unordered_map<void*, std::vector<StreamId>> uses_;
  std::vector<Waiting> waiting_;  ///< in order of their frees
};

}  // namespace stowage::session
