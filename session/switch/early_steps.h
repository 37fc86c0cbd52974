// The job's first optimizer steps, which allocate permanent optimizer state: keeps it out of pages full
// of holes, and out of an arena that was planned without it (a job may reach its plan before its first
// step).
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
  /// from the arena; none is early if its state is `planned`, too.
  void begin(SessionState now, std::uint64_t marks, bool planned = false);
  /// The step ends, if one began. True: it was an early one.
  bool end();
  /// An early step runs now.
  [[nodiscard]] bool inside() const noexcept { return inside_.load(std::memory_order_acquire); }

 private:
  void part_state(bool begins);

  DevicePort& port_;
  ServedArena& arena_;
  std::atomic<bool> inside_{false};
  std::uint64_t steps_ = 0;  ///< all that began
};

}  // namespace stowage::session
