#include "session/switch/planning.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "session/plans/windows.h"
#include "session/settings/notice.h"

namespace stowage::session {

std::optional<JointPlan> Planning::find_kept() {
  if (!plans_.may_find_kept()) return std::nullopt;
  const Trace trace = recording_.recorder().snapshot();
  std::optional<PlanBook::Kept> kept = plans_.find_kept(trace);
  if (!kept) return std::nullopt;
  facts_.keep_trace(std::make_shared<const Trace>(trace));
  note_peak_before(trace, kept->window.begin, kept->window.end);
  window_marks_ = kept->marks;
  guard_.trust_plan(true);
  JointPlan plans{std::move(kept->plans), {0}, {}, {}, 0};
  plans.height = highest(plans.plans);
  for (const Plan& plan : plans.plans) plans.lower_bound = std::max(plans.lower_bound, plan.lower_bound);
  return plans;
}

std::optional<JointPlan> Planning::find_opening() {
  std::optional<KeptPlans> kept = plans_.find_opening();
  if (!kept) return std::nullopt;
  window_marks_ = 1;
  opening_marks_ = kept->marks;
  guard_.trust_plan(kept->need.value() == 0);
  facts_.begin_planned(true, kept->need);
  JointPlan plans;
  plans.plans = std::move(kept->plans);
  plans.history = std::move(kept->history);
  plans.opening = kept->opening;
  plans.height = highest(plans.plans);
  plans.lower_bound = std::min(kept->lower_bound, plans.height);
  return plans;
}

// Uses the trace's peak if upstream keeps none. The trace only knows part of what was alive before
// recording.
void Planning::note_peak_before(const Trace& trace, Tick begin, Tick end) {
  if (port_.upstream_use().peak_allocated.value() > 0) return;
  facts_.note_peak_before(peak_live(trace, begin, end));
}

void Planning::begin() {
  window_marks_ = recording_.window_marks();
  marks_since_window_ = 0;
  put_off_.reset();
  const auto trace = std::make_shared<const Trace>(recording_.finish());
  facts_.keep_trace(trace);
  if (trace->steady) note_peak_before(*trace, trace->steady->begin, trace->steady->end);
  guard_.note_modelled(*trace);
}

Status Planning::ask() {
  const std::shared_ptr<const Trace> trace = facts_.trace();
  note(1, "planning " + std::to_string(trace->buffers.size()) + " allocations in the background");
  return plans_.make_first(*trace, recording_.has_beginning());
}

Result<std::optional<JointPlan>> Planning::on_mark() {
  const bool first = marks_since_window_ == 0;
  if (!first && !recording_.recorder().on_mark(MarkSource::kUser)) return std::optional<JointPlan>();
  if (marks_since_window_++ % window_marks_ != 0) return std::optional<JointPlan>();
  if (put_off_) return std::exchange(put_off_, std::nullopt);
  std::optional<Result<JointPlan>> made =
      plans_.poll(std::chrono::milliseconds(first ? settings_.plan_wait_ms : 0));
  if (made && !made->ok()) return made->error();
  if (made) return std::optional<JointPlan>(std::move(**made));
  recording_.note_before(facts_);
  return std::optional<JointPlan>();
}

}  // namespace stowage::session
