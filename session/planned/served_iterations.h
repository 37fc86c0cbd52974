// The iterations of a job that follows a plan: where they end, how many requests they make, and how many of
// them are off the plan.
//
// A mark without an allocation since the last one does not count. One iteration may contain several marks;
// the arena's allocator tells which of them ends it.
//
// Thread safety: the conductor's.
#pragma once

#include <cstdint>
#include <optional>

#include "session/arena/served_arena.h"
#include "session/ports/device_port.h"
#include "session/recording/recording.h"
#include "session/reserved/reserved_guard.h"

namespace stowage::session {

struct ServedIteration {
  std::uint64_t requests = 0;
  std::uint64_t missed = 0;  ///< of these, off the plan
  Bytes reserved{0};         ///< most that arena and upstream reserved together
  bool evicted = false;      ///< rescue evicted on demand

  [[nodiscard]] bool is_clean() const { return missed == 0; }
};

class ServedIterations {
 public:
  /// All must outlive it. `recording` is told of the marks that count.
  ServedIterations(DevicePort& port, ServedArena& arena, Recording& recording, ReservedGuard& guard)
      : port_(port), arena_(arena), recording_(recording), guard_(guard) {}

  /// Plans or their arena have changed: counts requests from now on. Requires: there is an arena.
  void restart();
  /// Whether the peaks of the first iteration are the job's: nothing is left of a switch in it.
  void count_first_peaks(bool counted) { counts_first_peaks_ = counted; }
  /// The iteration that ends at this mark, if one does. Also releases memory of former arenas. Requires:
  /// there is an arena.
  std::optional<ServedIteration> on_mark(MarkSource source);

 private:
  ServedIteration finish(const allocator::ServeCounts& counts);

  DevicePort& port_;
  ServedArena& arena_;
  Recording& recording_;
  ReservedGuard& guard_;
  bool counts_first_peaks_ = false;
  std::uint64_t requests_before_ = 0;   ///< requests served when the last iteration ended
  std::uint64_t requests_at_mark_ = 0;  ///< and at the last mark
  std::uint64_t off_plan_at_mark_ = 0;  ///< of these, off the plan
};

}  // namespace stowage::session
