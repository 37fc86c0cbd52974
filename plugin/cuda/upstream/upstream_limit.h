// How PyTorch's native allocator is held to a budget: it may reserve no more than a number of bytes, and it
// tells what it reserves.
//
// The limit is its own "memory fraction" of the device (memory_fraction.h). What it takes and gives back, and
// what tensors get of it, comes through its trace callbacks, in its own order. Expandable segments are mapped
// in whole pages after that check, so the limit is set lower by what a page may be more. Thread safety: every
// member, from any thread. on_event() runs under the native allocator's lock, so no member calls that
// allocator with a lock of its own held. Never destroyed while its device lives, since callbacks cannot be
// taken back.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include <atomic>
#include <cstdint>
#include <optional>

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

  /// Counts what upstream has, and will have, in `ledger`. Once. Requires: upstream is initialised.
  void count_in(session::Ledger& ledger);
  void cap(std::optional<Bytes> most) noexcept override;

  /// An iteration ended. `evened`: before a request of the next one, where least is in use, upstream's cache
  /// goes back to the device.
  void begin_iteration(bool evened) noexcept { low_point_.begin_iteration(evened); }
  /// Before a request under a limit. May synchronise.
  void before_request() {
    if (low_point_.is_reached()) upstream_.emptyCache();
  }

  /// How many of upstream's out-of-memory errors were not the job's end: it was asked again.
  [[nodiscard]] std::int64_t mended() const { return mended_.load(std::memory_order_relaxed); }
  void note_mended() { mended_.fetch_add(1, std::memory_order_relaxed); }
  void forget_mended() { mended_.store(0, std::memory_order_relaxed); }

 private:
  void on_event(const Event& event) noexcept;
  void note_tensors(std::int64_t delta) noexcept;

  const c10::DeviceIndex index_;
  Upstream& upstream_;
  MemoryFraction& fraction_;
  session::Ledger* ledger_ = nullptr;  ///< set before the first event
  std::atomic<std::int64_t> in_tensors_{0};
  std::atomic<std::uint64_t> events_{0};
  std::atomic<std::int64_t> mended_{0};
  LowPoint low_point_;
};

/// While one lives, out-of-memory errors of the calling thread are not the end yet: observers are not told
/// about them.
class NotTheEnd {
 public:
  NotTheEnd() { ++depth(); }
  NotTheEnd(const NotTheEnd&) = delete;
  NotTheEnd& operator=(const NotTheEnd&) = delete;
  ~NotTheEnd() { --depth(); }
  static int& depth() noexcept;
};

}  // namespace stowage::plugin
