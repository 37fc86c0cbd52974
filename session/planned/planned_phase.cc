#include "session/planned/planned_phase.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "session/settings/notice.h"

namespace stowage::session {

void PlannedPhase::begin(const JointPlan& plans, bool records_on) {
  worth_.begin();
  exchange_.begin();
  replanning_.begin(plans);
  restart(records_on);
  under_budget_.begin();
}

void PlannedPhase::serve(const JointPlan& plans) {
  foresee(plans);
  arena_.resume();
  under_budget_.rest();
  if (plans.opening == 0) replanning_.ask_lower();  // the run that left it has done so
  note(1, "planned: " + std::to_string(plans.plans.size()) + " kinds of iterations in an arena of " +
              std::to_string(plans.height.value()) + " bytes (lower bound " +
              std::to_string(plans.lower_bound.value()) + ", " + plans.plans.front().technique + ")");
}

// With an opening, the order is that of the run which left it, from the first iteration on.
void PlannedPhase::foresee(const JointPlan& plans) {
  if (plans.opening == 0) return arena_.allocator().foresee(plans.history);
  arena_.allocator().foresee(plans.history, plans.history);
}

Status PlannedPhase::leave_opening(const JointPlan& others) {
  if (Status replaced = arena_.allocator().replace_plans(others.plans); !replaced) return replaced;
  arena_.allocator().foresee(others.history, others.history);
  arena_.note_memory();
  replanning_.expect_lasting();
  return {};
}

void PlannedPhase::restart(bool records_on) {
  scheduled_kinds_ = under_budget_.scheduled_kinds();
  replanning_.restart(records_on);
  worth_.restart();
  exchange_.restart();
  iterations_.restart();
  diverged_streak_ = 0;
}

SessionVerdict PlannedPhase::on_mark(MarkSource source, std::uint32_t window_marks) {
  if (under_budget_.is_lost()) return leave_plan();
  if (SessionVerdict unsettled = under_budget_.settle(window_marks); unsettled.changes()) return unsettled;
  if (under_budget_.scheduled_kinds() > scheduled_kinds_) restart();
  evicted_ = evicted_ || under_budget_.evicted_on_demand();
  std::optional<ServedIteration> ended = iterations_.on_mark(source);
  if (!ended) return {};
  ended->evicted = std::exchange(evicted_, false);
  return on_iteration(*ended);
}

SessionVerdict PlannedPhase::on_iteration(const ServedIteration& ended) {
  if (SessionVerdict oversized = worth_.on_iteration(ended.is_clean()); oversized.changes()) return oversized;
  if (replanning_.on_iteration(ended)) {
    diverged_streak_ = 0;
    exchange_.restart();
  }
  switch (exchange_.on_iteration(ended.is_clean(), ended.reserved)) {
    case ArenaExchange::Outcome::kNone:
      break;
    case ArenaExchange::Outcome::kTooLarge:
      under_budget_.ask_for_less(exchange_.excess());
      break;
    case ArenaExchange::Outcome::kExchanged:
      restart();
      exchange_.resume();
      break;
    case ArenaExchange::Outcome::kFailed:
      return leave_plan();
  }
  return diverged_for_long(ended) ? leave_plan() : SessionVerdict{};
}

bool PlannedPhase::diverged_for_long(const ServedIteration& ended) {
  const double tolerated = settings_.miss_tolerance * static_cast<double>(ended.requests);
  diverged_streak_ = static_cast<double>(ended.missed) > tolerated ? diverged_streak_ + 1 : 0;
  return diverged_streak_ >= settings_.diverged_iterations && !replanning_.is_making();
}

}  // namespace stowage::session
