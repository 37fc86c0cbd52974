// What a session does at a mark, and how its state changes.
#include <exception>
#include <utility>

#include "session/session_state.h"
#include "session/settings/notice.h"
#include "session/settings/phrases.h"

namespace stowage::session {

// ---- marks

void Session::on_mark(MarkSource source) {
  state_->conduct([this, source] {
    state_->end_early_step();
    if (source != MarkSource::kPeriod && state_->budget.is_near_end()) state_->join_budget();
    state_->mark(source);
  });
}

void Session::State::end_early_step() {
  if (!early_steps.end()) return;
  const SessionState now = state.load(std::memory_order_relaxed);
  if (now == SessionState::kOnline) return arena.resume();
  if (now == SessionState::kPlanned && !under_budget.gave_up_arena()) arena.resume();
}

void Session::State::mark(MarkSource source) {
  SessionState now = state.load(std::memory_order_relaxed);
  if (now == SessionState::kOff) {
    frees.complete();
    return arena.give_back();
  }
  const BestSource::Mark told = best_source.on_mark(source);
  if (told == BestSource::Mark::kIgnored) return;
  if (told == BestSource::Mark::kBetter) {
    hot.watch_period.store(false, std::memory_order_relaxed);
    if (opening.is_on()) leave_opening("iterations are marked in a better way");
    now = state.load(std::memory_order_relaxed);
    if (is_past_recording()) return act_on(leave_plan());
    if (now == SessionState::kRecording && recording.marks() > 0)
      recording.forget();  // marks of different sources must not mix
  }
  facts.count_iteration();
  unmarked.on_mark();
  if (!hot.uses.any_in_arena()) frees.complete();  // those in the arena at the next request, as upstream does
  if (const std::optional<SessionVerdict> evicted = evictions.on_mark(source, now)) return act_on(*evicted);
  switch (now) {
    case SessionState::kRecording:
      return recording_mark(source);
    case SessionState::kPlanning:
      return planning_mark();
    case SessionState::kPlanned:
      if (opening.is_on()) return opening_mark(source);
      act_on(planned.on_mark(source, planning.window_marks()));
      if (is_planned() && !budget.on()) next_run.on_iteration();
      return;
    case SessionState::kOnline:
      return act_on(online.on_mark(source));
    case SessionState::kRescuing:
      return act_on(evictions.rescued_mark());
    case SessionState::kOff:
      return;
  }
}

void Session::State::start_recording() { recording.start(port.upstream_use().allocated == Bytes(0)); }

void Session::State::recording_mark(MarkSource source) {
  arena.give_back();
  if (!recording.on_mark(source)) return;
  room.try_all_again();
  recording.note_before(facts, left_opening && arena.exists() ? arena.committed_bytes() : Bytes(0));
  if (budget.schedule().is_on_trial()) return;  // what iterations allocate may change
  if (std::optional<JointPlan> kept = budget.pending() ? std::nullopt : planning.find_kept()) {
    under_budget.prepare();
    return adopt(std::move(*kept), true);
  }
  // If evicting iterations come in between, a third equal iteration, with ops, may never come.
  switch (recording.judge(/*ops_wanted=*/!evictions.saw_evictions())) {
    case Recording::Verdict::kGoOn:
      return;
    case Recording::Verdict::kSteady:
      return transition(SessionState::kPlanning, "the last iterations agree");
    case Recording::Verdict::kVaries:
    case Recording::Verdict::kHopeless:
      break;
  }
  const std::string why =
      "no two of " + std::to_string(recording.marks()) + " iterations made the same allocations";
  if (online.may_begin()) return transition(SessionState::kOnline, why);
  if (recording.marks() >= settings.record_iterations) transition(SessionState::kOff, why);
}

// Nobody says where an iteration ends, and the allocations do not show it.
void Session::State::unmarked_for_long() {
  const SessionState now = state.load(std::memory_order_relaxed);
  if (now == SessionState::kOnline) return act_on(online.on_mark(MarkSource::kPeriod));
  if (now != SessionState::kRecording || !online.may_begin()) return;
  recording.note_before(facts);
  transition(SessionState::kOnline,
             "no iteration was found in " + std::to_string(UnmarkedRun::kLong) + " allocations");
}

void Session::State::planning_mark() {
  Result<std::optional<JointPlan>> made = planning.on_mark();
  if (!made.ok()) return fail(made.error());
  if (!*made) return;
  guard.trust_plan(false);
  adopt(std::move(**made));
  if (is_planned()) plans.keep();
}

void Session::State::adopt(JointPlan made, bool records_on) {
  const Result<SessionVerdict> verdict = plan_switch.try_plans(made);
  if (!verdict.ok()) return fail(verdict.error());
  if (verdict->to != SessionState::kPlanned) {
    if (!verdict->changes() && state.load(std::memory_order_relaxed) == SessionState::kPlanning)
      planning.put_off(std::move(made));
    return act_on(*verdict);
  }
  planned.begin(made, records_on && recording.has_beginning());
  act_on(*verdict);
  planned.serve(made);
}

// ---- a job that begins planned

// Not before, since a process may make none.
void Session::State::begin_at_first_allocation() {
  if (!may_begin_planned.exchange(false)) return;
  conduct([this] { begin_planned(); });
}

// Nothing is lost where that fails.
void Session::State::begin_planned() {
  if (state.load(std::memory_order_relaxed) != SessionState::kRecording || !recording.has_beginning()) return;
  std::optional<JointPlan> kept = planning.find_opening();
  if (!kept) return;
  const auto iterations_of_it = static_cast<std::uint32_t>(opening_length(kept->history, kept->opening));
  const Result<SessionVerdict> verdict = plan_switch.try_plans(*kept);
  if (!verdict.ok() || verdict->to != SessionState::kPlanned) {
    note(1, "the job does not begin planned: " + (verdict.ok() ? verdict->why : verdict.error().message));
    guard.trust_plan(false);
    plans.refuse_opening();
    return facts.begin_planned(false, Bytes(0));
  }
  best_source.expect(planning.opening_marks());
  hot.watch_period.store(false, std::memory_order_relaxed);
  planned.begin(*kept, /*records_on=*/true);
  iterations.count_first_peaks(true);
  act_on(*verdict);
  planned.serve(*kept);
  opening.begin(iterations_of_it);
}

void Session::State::opening_mark(MarkSource source) {
  if (!iterations.on_mark(source)) return;
  const OpeningPhase::Verdict verdict = opening.on_iteration();
  if (verdict == OpeningPhase::Verdict::kUnfit)
    return leave_opening("the job does not begin as the run before");
  if (verdict == OpeningPhase::Verdict::kGoOn) return;
  opening.end();
  if (opening.fits_roughly()) plans.renew_opening();
  if (Status left = planned.leave_opening(plans.in_use()); !left) return act_on(leave_plan());
}

// What was recorded meanwhile is kept: it is as if there had been no plan.
void Session::State::leave_opening(const std::string& why) {
  note(1, why + ": its plans are left");
  const Bytes held_so_far = arena.peak_bytes();
  arena.pause();
  arena.shut_out();
  guard.trust_plan(false);
  plans.refuse_opening();
  facts.begin_planned(false, held_so_far);
  left_opening = true;
  enter(SessionState::kRecording, why);
  recording.go_on(opening.ended());
  arena.give_back();
}

// Before the first mark the allocations may have to show where iterations end.
void Session::State::leave_opening_inside() {
  if (!opening.is_on()) return;
  leave_opening("the job does not begin as the run before");
  if (opening.ended() != 0) return;
  best_source = {};
  hot.watch_period.store(true, std::memory_order_relaxed);
}

// ---- changes of state

void Session::State::act_on(const SessionVerdict& verdict) {
  if (!verdict.changes()) return;
  transition(*verdict.to, verdict.why);
  if (verdict.releases_cache) port.release_upstream_cache();
}

void Session::State::enter(SessionState to, const std::string& why) {
  if (to != SessionState::kPlanned) {
    opening.end();
    next_run.cancel();
    iterations.count_first_peaks(false);
  }
  state.change(to, why);
  facts.note_phase(to_string(to));
}

void Session::State::transition(SessionState to, const std::string& why) {
  switch (to) {
    case SessionState::kRecording:
      return record_again(why);
    case SessionState::kPlanning:
      planning.begin();
      under_budget.prepare();
      enter(to, why);
      if (Status asked = planning.ask(); !asked) return fail(asked.error());
      return planning_mark();
    case SessionState::kPlanned:
      return enter(to, why);
    case SessionState::kOnline:
      return serve_online(why);
    case SessionState::kRescuing:
      return rescue(why);
    case SessionState::kOff:
      return turn_off(why, /*loud=*/true);
  }
}

void Session::State::record_again(const std::string& why) {
  if (state.load(std::memory_order_relaxed) != SessionState::kRescuing) {
    arena.pause();
    plans.cancel();
    if (arena.exists()) arena.shut_out();
    if (budget.on() && arena.exists()) arena.give_up_free_parts();
    const std::uint64_t times = facts.count_replan();
    if (times > settings.max_replans) {
      const bool varies = is_planned() && online.may_begin();
      return transition(varies ? SessionState::kOnline : SessionState::kOff,
                        "the job left its plan for the " + ordinal(times) + " time");
    }
    note(1, "the job left its plan; recording again");
    under_budget.leave();
    if (!budget.on()) arena.give_back();
  }
  enter(SessionState::kRecording, why);
  start_recording();
}

// Where there can be no such arena the job goes on as if it had never been asked for.
void Session::State::serve_online(const std::string& why) {
  if (Status served = online.begin(); !served) return turn_off(why + ", and " + served.error().message, true);
  enter(SessionState::kOnline, why);
  facts.forget_plans();
}

// With a reason: permanently.
void Session::State::rescue(const std::string& why) {
  arena.pause();
  recording.stop();
  under_budget.rescue();
  evictions.restart();
  facts.give_reason(why);
  enter(SessionState::kRescuing, why.empty() ? "iterations evict" : why);
  note(1, "the budget is held by evicting and recomputing" + (why.empty() ? why : " (" + why + ")"));
}

// `loud`: the user did not request it. A session with a budget then keeps holding it, without a plan.
void Session::State::turn_off(const std::string& reason, bool loud) {
  arena.pause();
  hot.watch_period.store(false, std::memory_order_relaxed);
  recording.stop();
  plans.cancel();
  const bool rescues = loud && budget.on() && state.load() != SessionState::kOff;
  if (!rescues) budget.end();
  if (loud && !std::exchange(warned, true)) warn(reason + "; the job goes on without a plan");
  facts.give_reason(reason);
  if (rescues) return transition(SessionState::kRescuing, reason);
  enter(SessionState::kOff, reason);
  if (!loud) return;
  try {
    arena.give_back();
    port.stay_out();
  } catch (const std::exception& error) {
    note(1, std::string("upstream's cache was not released: ") + error.what());
  }
}

void Session::State::fail(const Error& error) noexcept try {
  turn_off(error.message, true);
} catch (const std::exception& second) {  // nothing is left to try
  arena.pause();
  warn(error.message + ", and then: " + second.what() + "; the job goes on without a plan");
  state.force(SessionState::kOff);
}

}  // namespace stowage::session
