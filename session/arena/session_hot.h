// The fields of a session that every allocation and every free reads, and no others; session.h holds them
// inline.
//
// Thread safety: atomics, written by the conductor (session_state.h) and read by any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/planned_allocator.h"
#include "session/arena/former_arenas.h"
#include "session/arena/stream_uses.h"

namespace stowage::tracer {
class Recorder;
}

namespace stowage::session {

/// One bit of a shared word, so that the hot path tests several bits with one load.
class WatchBit {
 public:
  WatchBit(std::atomic<std::uint8_t>& word, std::uint8_t bit) : word_(word), bit_(bit) {}
  [[nodiscard]] bool load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    return (word_.load(order) & bit_) != 0;
  }
  void store(bool value, std::memory_order order) noexcept {
    if (value)
      word_.fetch_or(bit_, order);
    else
      word_.fetch_and(static_cast<std::uint8_t>(~bit_), order);
  }

 private:
  std::atomic<std::uint8_t>& word_;
  const std::uint8_t bit_;
};

/// The fields that are read each time share one cache line.
struct alignas(64) SessionHot {
  static constexpr std::uint8_t kForked = 1, kPeriod = 2, kHistory = 4, kThin = 8, kMetered = 16;

  /// An allocation concerns more than the plan.
  [[nodiscard]] bool allocation_is_watched() const noexcept {
    return recorder.load(std::memory_order_acquire) != nullptr ||
           (watched.load(std::memory_order_relaxed) & (kPeriod | kHistory | kThin | kMetered)) != 0 ||
           uses.any_waiting();
  }
  /// A free concerns more than the arena.
  [[nodiscard]] bool free_is_watched() const noexcept {
    return recorder.load(std::memory_order_acquire) != nullptr ||
           (watched.load(std::memory_order_relaxed) & (kForked | kHistory | kMetered)) != 0 ||
           uses.any_noted();
  }

  std::atomic<allocator::PlannedAllocator*> serving{nullptr};  ///< hands out addresses
  std::atomic<allocator::PlannedAllocator*> owner{nullptr};    ///< owns the arena; outlives `serving`
  std::atomic<tracer::Recorder*> recorder{nullptr};            ///< records the job
  std::atomic<std::uint8_t> watched{kPeriod};
  StreamUses uses;
  // Read less often.
  WatchBit forked{watched, kForked};
  WatchBit watch_period{watched, kPeriod};  ///< no optimizer or user has marked yet
  WatchBit history{watched, kHistory};      ///< report every block (DevicePort::on_block)
  WatchBit metered{watched, kMetered};      ///< count what tensors hold (DevicePort::on_arena_use)
  WatchBit thin{watched, kThin};            ///< the arena lacks memory that the plan may need
  FormerArenas former;                      ///< where tensors of older plans live
};

}  // namespace stowage::session
