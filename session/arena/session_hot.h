// The part of a session that every allocation and every free reads, and nothing else; session.h has it
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

/// One bit of a word that others share, so that the hot path asks for several of them with one load.
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

/// What is asked each time lies on one cache line.
struct alignas(64) SessionHot {
  static constexpr std::uint8_t kForked = 1, kPeriod = 2, kHistory = 4, kThin = 8;

  /// An allocation involves more than the plan.
  [[nodiscard]] bool allocation_is_watched() const noexcept {
    return recorder.load(std::memory_order_acquire) != nullptr ||
           (watched.load(std::memory_order_relaxed) & (kPeriod | kHistory | kThin)) != 0 ||
           uses.any_waiting();
  }
  /// A free involves more than the arena.
  [[nodiscard]] bool free_is_watched() const noexcept {
    return recorder.load(std::memory_order_acquire) != nullptr ||
           (watched.load(std::memory_order_relaxed) & (kForked | kHistory)) != 0 || uses.any_noted();
  }

  std::atomic<allocator::PlannedAllocator*> serving{nullptr};  ///< hands out addresses
  std::atomic<allocator::PlannedAllocator*> owner{nullptr};    ///< owns the arena; outlives `serving`
  std::atomic<tracer::Recorder*> recorder{nullptr};            ///< writes down
  std::atomic<std::uint8_t> watched{kPeriod};
  StreamUses uses;
  // Asked less often.
  WatchBit forked{watched, kForked};
  WatchBit watch_period{watched, kPeriod};  ///< no optimizer or user has marked yet
  WatchBit history{watched, kHistory};      ///< an observer wants every block (DevicePort::on_block)
  WatchBit thin{watched, kThin};            ///< the arena lacks memory that the plan may want
  FormerArenas former;                      ///< where tensors of older plans live
};

}  // namespace stowage::session
