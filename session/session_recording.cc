// Recording → Planning → Planned.
#include <algorithm>
#include <chrono>
#include <utility>

#include "session/plans/windows.h"
#include "session/session_state.h"
#include "session/settings/notice.h"

namespace stowage::session {

void Session::State::start_recording() {
  recording.start(info.device.kind == DeviceKind::kCuda && port.upstream_use().allocated == Bytes(0));
}

void Session::State::recording_mark(MarkSource source) {
  arena.give_back();
  if (!recording.on_mark(source)) return;
  room.try_all_again();
  note_before();
  if (!budget.pending() && adopt_cached_plan()) return;
  // Where iterations that evict come between, a third one alike, with ops, may never come.
  switch (recording.judge(/*ops_wanted=*/evicting_marks == 0)) {
    case Recording::Verdict::kGoOn:
      return;
    case Recording::Verdict::kSteady:
      return begin_planning();
    case Recording::Verdict::kHopeless:
      return turn_off(
          "no two of " + std::to_string(recording.marks()) + " iterations made the same allocations", true);
  }
}

void Session::State::note_before() { facts.note_before(port.upstream_use(), recording.recorder().dropped()); }

// The trace's peak stands in where upstream does not keep one: what was alive before recording it only knows
// in part.
void Session::State::note_peak_before(const Trace& trace, Tick begin, Tick end) {
  if (port.upstream_use().peak_allocated.value() > 0) return;
  facts.note_peak_before(peak_live(trace, begin, end));
}

void Session::State::begin_planning() {
  window_marks = recording.window_marks();
  marks_since_window = 0;
  put_off.reset();
  const auto trace = std::make_shared<const Trace>(recording.finish());
  facts.keep_trace(trace);
  if (trace->steady) note_peak_before(*trace, trace->steady->begin, trace->steady->end);
  guard.note_modelled(*trace);
  scheduled.store(budget.on() && budget.schedule().follows(), std::memory_order_release);
  budget.schedule().hold(true);
  state.change(SessionState::kPlanning, "the last iterations agree");
  note(1, "planning " + std::to_string(trace->buffers.size()) + " allocations in the background");
  if (Status status = plans.make_first(*trace); !status) return fail(status.error());
  planning_mark();
}

void Session::State::planning_mark() {
  // The first boundary is the one that recording ended at; it may wait, so that the switch comes at a known
  // iteration.
  const bool first = marks_since_window == 0;
  if (!first && !recording.recorder().on_mark(MarkSource::kUser)) return;
  if (marks_since_window++ % window_marks != 0) return;
  const std::chrono::milliseconds wait(first ? settings.plan_wait_ms : 0);
  std::optional<Result<Plan>> made = put_off ? std::exchange(put_off, std::nullopt) : plans.poll(wait);
  if (!made) return note_before();
  if (!made->ok()) return fail(made->error());
  guard.trust_plan(false);
  adopt(std::move(**made));
  if (state.load(std::memory_order_relaxed) == SessionState::kPlanned) plans.keep();
}

bool Session::State::adopt_cached_plan() {
  if (settings.plan_cache.empty()) return false;
  const Trace trace = recording.recorder().snapshot();
  std::optional<PlanBook::Kept> kept = plans.find_kept(trace);
  if (!kept) return false;
  facts.keep_trace(std::make_shared<const Trace>(trace));
  note_peak_before(trace, kept->window.begin, kept->window.end);
  window_marks = kept->marks;
  guard.trust_plan(true);
  adopt(std::move(kept->plan));
  return true;
}

void Session::State::adopt(Plan plan) {
  if (Status valid = plan.validate(); !valid) return fail(valid.error());
  if (plan.height.value() == 0) return turn_off("the job has no allocation to plan", true);
  room.release_upstream();
  if (refuse_plan(plan) || refuse_oversized(plan)) return;
  const Result<bool> served = arena.serve(plan);
  if (!served.ok()) return fail(served.error());
  if (!*served) {
    if (state.load(std::memory_order_relaxed) == SessionState::kPlanning) put_off = std::move(plan);
    return;
  }
  plans.use_only(plan);
  guard.begin();
  reserved_clean = Bytes(0);
  learner.know_only(kind_of_iteration(plan));
  begin_learning();
  facts.add_plan(plan, /*first=*/true);
  plan_left = false;
  state.change(SessionState::kPlanned, "a plan is there");
  arena.resume();
  rest_under_plan();
  make_lower(plan);
  note(1, "planned: " + std::to_string(plan.entries.size()) + " allocations in an arena of " +
              std::to_string(plan.height.value()) + " bytes (lower bound " +
              std::to_string(plan.lower_bound.value()) + ", " + plan.technique + ")");
}

}  // namespace stowage::session
