#include "session/reserved/plan_worth.h"

#include <optional>

#include "session/settings/notice.h"
#include "session/settings/phrases.h"

namespace stowage::session {
namespace {

SessionVerdict give_up(const ReservedGuard::Excess& excess) {
  return {SessionState::kOff,
          "with its plan the job would reserve " + in_mib(excess.reserved) + ", and " + in_mib(excess.most) +
              " are enough without one",
          /*releases_cache=*/true};
}

}  // namespace

SessionVerdict PlanWorth::refuse(const JointPlan& plans) const {
  const std::optional<ReservedGuard::Excess> excess = guard_.foretell(plans);
  return excess ? give_up(*excess) : SessionVerdict{};
}

void PlanWorth::restart() {
  guard_.restart();
  room_.restart();
}

SessionVerdict PlanWorth::on_iteration(bool clean) {
  // If the arena lacks memory, upstream may hold it now.
  if (!clean && arena_.lacks_memory()) room_.release_upstream();
  if (!room_.is_strained(clean)) return leave_oversized(clean);
  note(1, "the arena gives memory back for other requests in too many iterations");
  plans_.forget_kept();
  return leave_plan();
}

// A lower placement may be found soon, if the job could afford the lowest one.
bool PlanWorth::may_improve() const {
  if (plans_.makes_anew() || !plans_.makes_lower()) return plans_.makes_anew();
  const std::optional<Bytes> room = guard_.room_for_arena(Bytes(0));
  return room && plans_.in_use().lower_bound <= *room;
}

SessionVerdict PlanWorth::leave_oversized(bool clean) {
  const ReservedGuard::Verdict verdict = guard_.on_iteration(clean, may_improve());
  if (verdict == ReservedGuard::Verdict::kFine) return {};
  room_.release_upstream();
  if (verdict == ReservedGuard::Verdict::kRelease) return {};
  plans_.forget_kept();
  const ReservedGuard::Excess excess = guard_.excess();
  if (verdict == ReservedGuard::Verdict::kGiveUp) return give_up(excess);
  note(1, "arena and upstream reserve " + in_mib(excess.reserved) + " together and " + in_mib(excess.most) +
              " are enough without a plan");
  return leave_plan();
}

}  // namespace stowage::session
