// The fraction of a device's memory that the user lets PyTorch have: for PyTorch's own allocator and the
// arenas together.
//
// PyTorch's allocator checks its fraction before it takes memory from the device. Stowage sets a lower one,
// reduced by the arenas' memory and by a budget; the user reads and sets their own. If the user set none,
// the arenas do not lower it. Thread safety: every member, from any thread; upstream is called under a mutex
// that upstream's callbacks never take.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "core/result.h"
#include "core/units.h"

namespace stowage::plugin {

class MemoryFraction {
 public:
  using Upstream = c10::cuda::CUDACachingAllocator::CUDAAllocator;

  /// `upstream` outlives this.
  MemoryFraction(c10::DeviceIndex index, Upstream& upstream) : index_(index), upstream_(upstream) {}

  /// The user's own fraction, and a new one. Both throw what upstream throws.
  [[nodiscard]] double users() const;
  void set_users(double fraction);
  /// The user's fraction in bytes, if upstream has a lower one only because of the arenas.
  [[nodiscard]] std::optional<Bytes> users_bytes();
  /// For a budget: upstream takes no more than `most`; nothing: there is no budget.
  void cap(std::optional<Bytes> most);
  /// Counts `bytes` that an arena is about to take. False, and counts none: the user's fraction is used up.
  [[nodiscard]] bool take(Bytes bytes);
  /// Stops counting `bytes`, which the device has back.
  void give(Bytes bytes);
  /// The arena took `real` bytes instead of the counted `taken`.
  void correct(Bytes taken, Bytes real);
  /// Arenas and upstream hold more than a newly set fraction allows.
  [[nodiscard]] bool exceeded();
  /// Upstream's settings changed.
  void settings_changed();
  /// Bytes that the arenas hold. Takes no lock.
  [[nodiscard]] Bytes arenas() const { return Bytes(arenas_.load(std::memory_order_relaxed)); }
  /// The error of an arena that take() refuses.
  static Error no_room();

 private:
  double users_locked() const;
  [[nodiscard]] std::uint64_t allowed(double fraction);
  [[nodiscard]] bool has_room();
  void apply();

  const c10::DeviceIndex index_;
  Upstream& upstream_;
  mutable std::mutex mutex_;
  std::uint64_t device_bytes_ = 0;        ///< 0: not asked for yet
  std::atomic<std::uint64_t> arenas_{0};  ///< bytes; changed under the mutex
  std::optional<Bytes> most_;             ///< by a budget
  std::optional<double> users_;           ///< set while ours is in force
};

}  // namespace stowage::plugin
