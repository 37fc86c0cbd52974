// Serves a job that no plan can follow, since its iterations never repeat: mixtures of experts, sequences of
// any length, caches that grow. Its requests get room in the arena wherever they fit best
// (allocator/online/online_region.h), as long as the job reserves no more than it would with expandable
// segments (reserved_guard.h).
//
// Once the last iterations all came before (repetition.h), some are recorded, allocations only, and the job
// is planned if it goes on like that.
//
// Thread safety: the conductor's.
#pragma once

#include <cstdint>

#include "session/online/repetition.h"
#include "session/planned/served_iterations.h"
#include "session/reserved/plan_worth.h"
#include "session/settings/settings.h"
#include "session/states/session_verdict.h"
#include "session/switch/planning.h"

namespace stowage::session {

class OnlinePhase {
 public:
  static constexpr std::uint64_t kRecorded = 32;  ///< iterations, once the job seems to repeat itself

  /// All must outlive it.
  OnlinePhase(const Settings& settings, DevicePort& port, const BudgetController& budget, ServedArena& arena,
              Recording& recording, Planning& planning, ReservedGuard& guard, PlanWorth& worth,
              DeviceRoom& room, ServedIterations& iterations, SessionFacts& facts)
      : settings_(settings),
        port_(port),
        budget_(budget),
        arena_(arena),
        recording_(recording),
        planning_(planning),
        guard_(guard),
        worth_(worth),
        room_(room),
        iterations_(iterations),
        facts_(facts) {}

  /// The settings want it, there is no budget, and the device may be waited for.
  [[nodiscard]] bool may_begin() const;
  /// Ends recording, maps an arena and serves from it. Error: there is no memory for an arena, or it cannot
  /// grow; nothing is served then.
  Status begin();
  /// An iteration may have ended. kPlanning: the job repeats itself. kOff: it is better off without the
  /// arena.
  SessionVerdict on_mark(MarkSource source);

 private:
  SessionVerdict learn();

  const Settings& settings_;
  DevicePort& port_;
  const BudgetController& budget_;
  ServedArena& arena_;
  Recording& recording_;
  Planning& planning_;
  ReservedGuard& guard_;
  PlanWorth& worth_;
  DeviceRoom& room_;
  ServedIterations& iterations_;
  SessionFacts& facts_;
  Repetition repetition_;
  std::uint64_t recorded_ = 0;  ///< iterations, since it seemed to repeat itself
};

}  // namespace stowage::session
