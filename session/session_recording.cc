// Recording → Planning → Planned.
#include <algorithm>
#include <chrono>
#include <utility>

#include "session/plans/plan_cache.h"
#include "session/plans/windows.h"
#include "session/ports/observers.h"
#include "session/session_state.h"
#include "session/settings/notice.h"

namespace stowage::plugin {
namespace {

constexpr std::uint32_t kMaxPeriodMarks = 8;
// Of one recording. A job that repeats itself now and then, and never for long, is planned without ops after
// that.
constexpr std::uint64_t kMaxMarksWithOps = 32;
// Marks that ops are still written down for where the job does not repeat itself any more: an evaluation now
// and then shall not keep it from its plan.
constexpr std::uint64_t kUnlikeMarksWithOps = 4;
constexpr double kGoodEnough = 0.001;  // of the lower bound: better ones are looked for while the plan serves

}  // namespace

void Session::State::start_recording() {
  stop_recording();
  tracer::RecorderOptions options;
  options.max_period_marks = kMaxPeriodMarks;
  options.max_events = settings.record_events;
  options.from_first_allocation =
      recorders.empty() && info.device == DeviceKind::kCuda && port.upstream_use().allocated == Bytes(0);
  // A fresh recorder: one that slept would take for alive what was freed meanwhile. Late callers may still
  // hold the old one, so it is emptied and kept.
  if (!recorders.empty()) recorders.back()->clear();
  recorders.push_back(std::make_shared<tracer::Recorder>(info, options));
  recorded_marks = 0;
  all_marks_with_ops = 0;
  recording.store(recorders.back().get(), std::memory_order_release);
}

void Session::State::stop_recording() {
  stop_ops();
  recording.store(nullptr, std::memory_order_release);
}

void Session::State::recording_mark(MarkSource source) {
  give_back_arena();
  tracer::Recorder& recorder = *recorders.back();
  if (!recorder.on_mark(source)) return;
  ++recorded_marks;
  unreleasable.store(0, std::memory_order_relaxed);  // pages that were partly in use may be free by now
  note_before();
  if (!budget.pending() && adopt_cached_plan()) return;
  if (has_ops(recorder.period_marks())) return begin_planning();
  if (ops_observed || recorded_marks < settings.record_iterations) return;
  turn_off("no two of " + std::to_string(recorded_marks) + " iterations made the same allocations", true);
}

// Ops are what recording costs: where kernels are short, as much as the job itself. So allocations alone tell
// whether the job repeats itself, and once they do the next window's ops are written down too; not where
// iterations that evict come between, since a third one alike may never come. True when the steady window is
// complete: its ops are there, or are not wanted.
bool Session::State::has_ops(std::uint32_t period) {
  if (ops_observed) ++marks_with_ops, ++all_marks_with_ops;
  if (period == 0) {
    if (++unlike_marks >= kUnlikeMarksWithOps) stop_ops();
    return false;
  }
  unlike_marks = 0;
  if (!settings.record_ops || evicting_marks > 0 || (ops_observed && marks_with_ops >= period)) return true;
  if (ops_observed) return false;
  if (all_marks_with_ops >= kMaxMarksWithOps) return true;
  ops_observed = true;
  marks_with_ops = 0;
  observe_ops(recorders.back(), info);
  return false;
}

void Session::State::stop_ops() {
  if (std::exchange(ops_observed, false)) unobserve_ops(info);
}

void Session::State::note_before() { facts.note_before(port.upstream_use(), recorders.back()->dropped()); }

// The trace's peak stands in where upstream does not keep one: what was alive before recording it only knows
// in part.
void Session::State::note_peak_before(const Trace& trace, Tick begin, Tick end) {
  if (port.upstream_use().peak_allocated.value() > 0) return;
  facts.note_peak_before(peak_live(trace, begin, end));
}

void Session::State::begin_planning() {
  tracer::Recorder& recorder = *recorders.back();
  window_marks = std::max(1u, recorder.period_marks());
  marks_since_window = 0;
  stop_ops();
  complete_ops(recorder, info);
  auto trace = std::make_shared<const Trace>(recorder.snapshot(tracer::Extent::kAll));
  facts.keep_trace(trace);
  if (trace->steady) note_peak_before(*trace, trace->steady->begin, trace->steady->end);
  note_modelled(*trace);
  planner::PlanOptions options;
  options.work_limit = settings.plan_work;
  options.time_limit_s = settings.plan_seconds;
  options.good_enough = kGoodEnough;
  if (!plans) plans = make_plan_source(settings.fault);
  scheduled.store(budget.on() && budget.schedule().follows(), std::memory_order_release);
  budget.schedule().hold(true);
  state.store(SessionState::kPlanning, std::memory_order_release);
  note(1, "planning " + std::to_string(trace->buffers.size()) + " allocations in the background");
  if (Status status = plans->submit(*trace, std::move(options)); !status) return fail(status.error());
  planning_mark();
}

void Session::State::planning_mark() {
  // The first boundary is the one that recording ended at; it may wait, so that the switch comes at a known
  // iteration.
  const bool first = marks_since_window == 0;
  if (!first && !recorders.back()->on_mark(MarkSource::kUser)) return;
  if (marks_since_window++ % window_marks != 0) return;
  const std::chrono::milliseconds wait(first ? settings.plan_wait_ms : 0);
  std::optional<Result<Plan>> made = plans->poll(wait);
  if (!made) return note_before();
  if (!made->ok()) return fail(made->error());
  from_cache = false;
  adopt(std::move(**made));
  if (settings.plan_cache.empty() || state.load(std::memory_order_relaxed) != SessionState::kPlanned) return;
  if (Status saved = store_plan(settings.plan_cache, info, known_plans.back()); !saved)
    warn(saved.error().message);
}

bool Session::State::adopt_cached_plan() {
  if (settings.plan_cache.empty()) return false;
  const Trace trace = recorders.back()->snapshot();
  for (std::uint32_t marks = 1; marks <= kMaxPeriodMarks; ++marks) {
    const std::optional<Window> window = last_window(trace, marks);
    if (!window) return false;
    Result<std::optional<Plan>> found = find_plan(settings.plan_cache, trace, *window);
    if (!found.ok()) {
      if (!std::exchange(warned, true)) warn(found.error().message);
      continue;
    }
    if (!found->has_value()) continue;
    facts.keep_trace(std::make_shared<const Trace>(trace));
    note_peak_before(trace, window->begin, window->end);
    window_marks = marks;
    from_cache = true;
    adopt(std::move(**found));
    return true;
  }
  return false;
}

void Session::State::adopt(Plan plan) {
  if (Status valid = plan.validate(); !valid) return fail(valid.error());
  if (plan.height.value() == 0) return turn_off("the job has no allocation that could be planned", true);
  release_upstream();
  if (refuse_plan(plan) || refuse_oversized(plan)) return;
  if (Status served = serve(plan); !served) return fail(served.error());
  known_plans.push_back(plan);
  first_active = known_plans.size() - 1;
  lasting_first.reset();
  reserved_clean = Bytes(0);
  lasting_more.store(0, std::memory_order_relaxed);
  planned_kinds = {kind_of_iteration(plan)};
  seen.clear();
  begin_learning();
  facts.add_plan(plan, /*first=*/true);
  plan_left = false;
  state.store(SessionState::kPlanned, std::memory_order_release);
  resume_serving();
  rest_under_plan();
  begin_improving(plan);
  note(1, "planned: " + std::to_string(plan.entries.size()) + " allocations in an arena of " +
              std::to_string(plan.height.value()) + " bytes (lower bound " +
              std::to_string(plan.lower_bound.value()) + ", " + plan.technique + ")");
}

}  // namespace stowage::plugin
