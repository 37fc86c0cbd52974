// What becomes of a plan that reserves too much (reserved/), and how requests off the plan find room.
#include "session/session_state.h"
#include "session/settings/notice.h"
#include "session/settings/phrases.h"

namespace stowage::session {

bool Session::State::refuse_oversized(const Plan& plan) {
  const std::optional<ReservedGuard::Excess> excess = guard.foretell(plan);
  if (excess) give_up_plan(*excess);
  return excess.has_value();
}

// At an iteration's end. True if the plan was left. `clean`: every request was the plan's.
bool Session::State::leave_oversized(bool clean) {
  const ReservedGuard::Verdict verdict = guard.on_iteration(clean, plans.makes_further());
  if (verdict == ReservedGuard::Verdict::kFine) return false;
  room.release_upstream();
  if (verdict == ReservedGuard::Verdict::kRelease) return false;
  plans.forget_kept();
  const ReservedGuard::Excess excess = guard.excess();
  if (verdict == ReservedGuard::Verdict::kGiveUp) {
    give_up_plan(excess);
    return true;
  }
  note(1, "arena and upstream reserve " + in_mib(excess.reserved) + " together and " + in_mib(excess.most) +
              " are enough without a plan");
  back_to_recording();
  return true;
}

void Session::State::give_up_plan(const ReservedGuard::Excess& excess) {
  turn_off("with its plan the job would reserve " + in_mib(excess.reserved) + ", and " + in_mib(excess.most) +
               " are enough without one",
           true);
  port.release_upstream_cache();
}

void Session::before_upstream_alloc(Bytes bytes, StreamId stream) {
  State& state = *state_;
  if (state.port.commits_on_touch()) return;
  if (state.hot.serving.load(std::memory_order_acquire) == nullptr) return state.keep_peak_low(bytes);
  state.conduct([&] {
    if (state.hot.serving.load() != nullptr) state.room.for_upstream(bytes, stream);
  });
}

void Session::State::keep_peak_low(Bytes bytes) {
  const SessionState now = state.load(std::memory_order_relaxed);
  const bool unplanned = now == SessionState::kRecording || now == SessionState::kPlanning;
  if (unplanned && !budget.on()) room.keep_peak_low(bytes);
}

void Session::State::make_room_for_arena(allocator::PlannedAllocator& now, Bytes bytes, StreamId stream) {
  const Bytes lacking = room.for_arena(now, bytes, stream);
  if (lacking.value() != 0) conduct([&] { room.give_up_idle_for(lacking); });
}

}  // namespace stowage::session
