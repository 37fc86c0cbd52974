// How PyTorch's native allocator is held to a budget: it may reserve no more than a number of bytes, and it
// tells what it reserves.
//
// The limit is its own "memory fraction" of the device, which it checks under its own lock before it takes
// anything from the device; a lower fraction of the user's stays in force. What it takes and gives back, and
// what tensors get of it, comes through its trace callbacks, in its own order. Expandable segments are mapped
// in whole pages after that check, so the limit is set lower by what a page may be more. Thread safety: every
// member, from any thread. on_event() runs under the native allocator's lock, so no member calls that
// allocator with a lock of its own held. Never destroyed while its device lives, since callbacks cannot be
// taken back.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "plugin/budget/ledger.h"
#include "plugin/cuda/low_point.h"

namespace stowage::plugin {

class UpstreamLimit final : public UpstreamCap {
 public:
  using Upstream = c10::cuda::CUDACachingAllocator::CUDAAllocator;
  using Event = c10::CachingDeviceAllocator::TraceEntry;

  /// `device_memory`: what fractions are of. Both outlive this.
  UpstreamLimit(c10::DeviceIndex index, Upstream& upstream, Bytes device_memory)
      : index_(index), upstream_(upstream), device_memory_(device_memory) {}

  /// Counts what upstream has, and will have, in `ledger`. Once. Requires: upstream is initialised.
  void count_in(Ledger& ledger);
  void cap(std::optional<Bytes> most) noexcept override;
  /// The user's own fraction of the device, and a new one. Throws what upstream throws for one out of bounds.
  [[nodiscard]] double user_fraction() const;
  void set_user_fraction(double fraction);

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
  void apply();

  const c10::DeviceIndex index_;
  Upstream& upstream_;
  const Bytes device_memory_;
  Ledger* ledger_ = nullptr;  ///< set before the first event
  std::atomic<std::int64_t> in_tensors_{0};
  std::atomic<std::uint64_t> events_{0};
  std::atomic<std::int64_t> mended_{0};
  LowPoint low_point_;
  mutable std::mutex mutex_;
  std::optional<Bytes> most_;            ///< by us
  std::optional<double> user_fraction_;  ///< known while ours is in force
};

/// While one lives, out-of-memory errors of the calling thread are not the end yet: observers do not hear of
/// them.
class NotTheEnd {
 public:
  NotTheEnd() { ++depth(); }
  NotTheEnd(const NotTheEnd&) = delete;
  NotTheEnd& operator=(const NotTheEnd&) = delete;
  ~NotTheEnd() { --depth(); }
  static int& depth() noexcept;
};

}  // namespace stowage::plugin
