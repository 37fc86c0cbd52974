// Watches for iterations that evict under a budget: decides when they end recording, and when it restarts.
//
// A job whose iterations evict is not planned: its allocations depend on what was evicted. After a few such
// iterations recording ends, and rescue makes room as long as evictions continue. Under a schedule
// (budget/schedule_controller.h) each iteration evicts the same tensors: such a job is recorded again and
// planned, including what it recomputes.
//
// Thread safety: the conductor's.
#pragma once

#include <cstdint>
#include <optional>

#include "session/arena/served_arena.h"
#include "session/budget/budget_controller.h"
#include "session/facts/session_facts.h"
#include "session/ports/device_port.h"
#include "session/recording/recording.h"
#include "session/rescue/lasting_memory.h"
#include "session/states/session_verdict.h"

namespace stowage::session {

class EvictionWatch {
 public:
  /// All must outlive it.
  EvictionWatch(BudgetController& budget, DevicePort& port, ServedArena& arena, LastingMemory& lasting,
                Recording& recording, SessionFacts& facts)
      : budget_(budget),
        port_(port),
        arena_(arena),
        lasting_(lasting),
        recording_(recording),
        facts_(facts) {}

  /// An iteration ended in state `now`; tells the budget. A verdict if it evicted while recording, or the
  /// schedule is followed no longer: the recording, of iterations that do not come again, is discarded and
  /// the mark is done; kRescuing after a few that evicted.
  std::optional<SessionVerdict> on_mark(MarkSource source, SessionState now);
  /// After on_mark() while rescuing; kRecording: iterations no longer evict beyond a schedule.
  SessionVerdict rescued_mark();
  /// The present recording has seen evictions, or there were some beside a schedule in the last iteration.
  [[nodiscard]] bool saw_evictions() const { return helped_ || evicting_marks_ != 0; }
  /// Rescue begins.
  void restart() { evicting_marks_ = calm_marks_ = 0; }

 private:
  BudgetController& budget_;
  DevicePort& port_;
  ServedArena& arena_;
  LastingMemory& lasting_;
  Recording& recording_;
  SessionFacts& facts_;
  bool follows_ = false;              ///< a schedule, after the last mark
  bool evicted_ = false;              ///< in the last iteration, as no schedule says
  bool helped_ = false;               ///< in the last iteration rescue made room beside a schedule
  std::uint64_t evicting_marks_ = 0;  ///< iterations with evictions since recording began
  std::uint64_t calm_marks_ = 0;      ///< iterations without, in a row, while rescuing
};

}  // namespace stowage::session
