// Holds PyTorch's native allocator to a budget: limits the bytes that it reserves, and counts what it
// reserves.
//
// The limit is the allocator's own "memory fraction" of the device (memory_fraction.h). Its trace callbacks
// report, in its own order, what it takes and gives back and what tensors get. It maps expandable segments
// in whole pages after that check, so the limit is lower by the most that a page may add. Thread safety:
// every member, from any thread. on_event() runs under the native allocator's lock, so no member calls that
// allocator while holding a lock of its own. Never destroyed while its device lives, since callbacks cannot
// be removed.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "core/support/thread_scope.h"
#include "plugin/cuda/upstream/low_point.h"
#include "plugin/cuda/upstream/memory_fraction.h"
#include "session/ports/ledger.h"

namespace stowage::plugin {

class UpstreamLimit final : public session::UpstreamCap {
 public:
  using Upstream = c10::cuda::CUDACachingAllocator::CUDAAllocator;
  using Event = c10::CachingDeviceAllocator::TraceEntry;

  /// Both outlive this.
  UpstreamLimit(c10::DeviceIndex index, Upstream& upstream, MemoryFraction& fraction)
      : index_(index), upstream_(upstream), fraction_(fraction) {}

  /// Counts what upstream holds, now and later, in `ledger`. Call once. Requires: upstream is initialised.
  void count_in(session::Ledger& ledger);
  void cap(std::optional<Bytes> most) noexcept override;

  /// An iteration ended. `evened`: in the next one, empties upstream's cache before the first request at its
  /// low point (low_point.h).
  void begin_iteration(bool evened) noexcept { low_point_.begin_iteration(evened); }
  /// Before a request under a limit. May synchronise.
  void before_request() {
    if (low_point_.is_reached()) upstream_.emptyCache();
  }

  /// Tensors took `delta` bytes of the arena (below 0: gave them back). Requires: count_in() was called.
  void note_arena(std::int64_t delta) noexcept;

  /// How many of upstream's out-of-memory errors the job did not see: upstream was asked again.
  [[nodiscard]] std::int64_t mended() const { return mended_.load(std::memory_order_relaxed); }
  void note_mended() { mended_.fetch_add(1, std::memory_order_relaxed); }
  void forget_mended() { mended_.store(0, std::memory_order_relaxed); }

 private:
  void on_event(const Event& event) noexcept;
  void note_tensors(std::int64_t delta) noexcept;
  void tell_meter(std::int64_t delta) noexcept;

  const c10::DeviceIndex index_;
  Upstream& upstream_;
  MemoryFraction& fraction_;
  session::Ledger* ledger_ = nullptr;  ///< set before the first event
  std::atomic<std::int64_t> in_tensors_{0};
  std::atomic<std::uint64_t> events_{0};
  std::atomic<std::int64_t> mended_{0};
  LowPoint low_point_;
};

/// While one exists, out-of-memory errors of the calling thread may still be resolved: observers are not
/// told.
class NotTheEnd : public ThreadScope<NotTheEnd> {};

}  // namespace stowage::plugin
