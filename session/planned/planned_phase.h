// Decides at each mark how a job that follows a plan continues.
//
// Kinds of iterations without a plan, and tensors that stay in the arena, get all kinds planned anew in the
// background. If there is nothing to learn and iterations keep diverging, the job leaves its plans.
//
// Thread safety: the conductor's.
#pragma once

#include <cstdint>

#include "core/plan.h"
#include "session/planned/arena_exchange.h"
#include "session/planned/replanning.h"
#include "session/planned/served_iterations.h"
#include "session/rescue/plan_under_budget.h"
#include "session/reserved/plan_worth.h"
#include "session/settings/settings.h"
#include "session/states/session_verdict.h"

namespace stowage::session {

class PlannedPhase {
 public:
  /// All must outlive it.
  PlannedPhase(const Settings& settings, ServedArena& arena, PlanUnderBudget& under_budget, PlanWorth& worth,
               ServedIterations& iterations, Replanning& replanning, ArenaExchange& exchange)
      : settings_(settings),
        arena_(arena),
        under_budget_(under_budget),
        worth_(worth),
        iterations_(iterations),
        replanning_(replanning),
        exchange_(exchange) {}

  /// The arena is ready for `plans`, the only ones in use. `records_on`: what is recorded already is kept.
  void begin(const JointPlan& plans, bool records_on = false);
  /// The arena hands out addresses from now on, and the planner looks for a lower placement.
  void serve(const JointPlan& plans);
  /// The iterations of an opening are over: only `others` are served from now on, with the order in which
  /// they came before. Error: the arena cannot serve them alone; it serves what it did.
  Status leave_opening(const JointPlan& others);
  /// An iteration may have ended; the planned window has `window_marks` marks. kRecording: the job does not
  /// follow its plan; kRescuing: the arena does not fit into the budget; kOff: it is better off without one.
  SessionVerdict on_mark(MarkSource source, std::uint32_t window_marks);

 private:
  void restart(bool records_on = false);
  void foresee(const JointPlan& plans);
  SessionVerdict on_iteration(const ServedIteration& ended);
  [[nodiscard]] bool diverged_for_long(const ServedIteration& ended);

  const Settings& settings_;
  ServedArena& arena_;
  PlanUnderBudget& under_budget_;
  PlanWorth& worth_;
  ServedIterations& iterations_;
  Replanning& replanning_;
  ArenaExchange& exchange_;
  bool evicted_ = false;               ///< rescue did on demand, since an iteration ended
  std::uint64_t scheduled_kinds_ = 0;  ///< when learning began
  std::uint64_t diverged_streak_ = 0;  ///< iterations in a row
};

}  // namespace stowage::session
