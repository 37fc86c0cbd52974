// The job's first optimizer steps, in which optimizer state is born that is never freed: it must not settle
// in pages full of holes, nor in an arena that was planned without it (a job may reach its plan before its
// first step).
//
// Thread safety: inside() from any thread; the rest is the conductor's.
#pragma once

#include <atomic>
#include <cstdint>

#include "session/arena/served_arena.h"
#include "session/ports/device_port.h"
#include "session/states/states.h"

namespace stowage::session {

class EarlySteps {
 public:
  /// Both must outlive it.
  EarlySteps(DevicePort& port, ServedArena& arena) : port_(port), arena_(arena) {}

  /// A step begins in state `now`, after `marks` marks of the present recording. An early one is not served
  /// from the arena.
  void begin(SessionState now, std::uint64_t marks);
  /// It ends, if one began. True: it was an early one.
  bool end();
  /// One of them runs now.
  [[nodiscard]] bool inside() const noexcept { return inside_.load(std::memory_order_acquire); }

 private:
  void part_state(bool begins);

  DevicePort& port_;
  ServedArena& arena_;
  std::atomic<bool> inside_{false};
  std::uint64_t steps_ = 0;  ///< all that began
};

}  // namespace stowage::session
