// The part of a session that every allocation and every free reads, and nothing else; session.h has it
// inline.
//
// Thread safety: atomics, written by the conductor (session_state.h) and read by any thread.
#pragma once

#include <atomic>

#include "allocator/planned_allocator.h"
#include "plugin/stream_uses.h"

namespace stowage::tracer {
class Recorder;
}

namespace stowage::plugin {

struct SessionHot {
  /// An allocation has to do with more than the plan.
  [[nodiscard]] bool allocation_is_watched() const noexcept {
    return recording.load(std::memory_order_acquire) != nullptr ||
           watch_period.load(std::memory_order_relaxed) || uses.any_waiting();
  }
  /// A free has to do with more than the arena.
  [[nodiscard]] bool free_is_watched() const noexcept {
    return recording.load(std::memory_order_acquire) != nullptr || forked.load(std::memory_order_relaxed) ||
           uses.any_noted();
  }

  std::atomic<allocator::PlannedAllocator*> serving{nullptr};  ///< hands out addresses
  std::atomic<allocator::PlannedAllocator*> owner{nullptr};    ///< owns the arena; outlives `serving`
  std::atomic<tracer::Recorder*> recording{nullptr};           ///< writes down
  std::atomic<bool> forked{false};
  std::atomic<bool> watch_period{true};  ///< no optimizer or user has marked yet
  StreamUses uses;
};

}  // namespace stowage::plugin
