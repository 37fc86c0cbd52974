// The fraction of a device's memory that the user lets PyTorch have: for PyTorch's own allocator and the
// arenas together.
//
// PyTorch's allocator holds itself to a fraction, before it takes anything from the device. It is told a
// lower one by what the arenas have, and by what a budget leaves it; the user reads and sets his own. A user
// who has set none is not held to one. Thread safety: every member, from any thread; upstream is called under
// a mutex that nothing which upstream calls takes.
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
  /// The user's fraction, where upstream uses a lower one only because of the arenas.
  [[nodiscard]] std::optional<Bytes> users_bytes();
  /// For a budget: upstream takes no more than `most`; nothing: there is no budget.
  void cap(std::optional<Bytes> most);
  /// Counts `bytes` that an arena is about to take. False, and counts nothing: the user's fraction has no
  /// room.
  [[nodiscard]] bool take(Bytes bytes);
  /// Stops counting them: they were given back to the device.
  void give(Bytes bytes);
  /// Of the `taken` bytes the arena has `real`.
  void correct(Bytes taken, Bytes real);
  /// Arenas and upstream have more than a fraction that was set since allows.
  [[nodiscard]] bool exceeded();
  /// Upstream's settings have changed.
  void settings_changed();
  /// What the arenas have. Without a lock.
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
  std::optional<double> users_;           ///< known while ours is in force
};

}  // namespace stowage::plugin
