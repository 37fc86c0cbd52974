#include "session/facts/session_facts.h"

#include <algorithm>
#include <utility>

namespace stowage::session {

Facts SessionFacts::all() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

void SessionFacts::count_iteration() {
  const std::lock_guard lock(mutex_);
  ++facts_.iterations;
}

void SessionFacts::give_reason(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (facts_.reason.empty()) facts_.reason = reason;
}

bool SessionFacts::has_reason() const {
  const std::lock_guard lock(mutex_);
  return !facts_.reason.empty();
}

void SessionFacts::note_before(const UpstreamUse& use, std::uint64_t dropped) {
  const std::lock_guard lock(mutex_);
  facts_.reserved_before = std::max({facts_.reserved_before, use.reserved, use.peak_reserved});
  facts_.peak_live_before = std::max({facts_.peak_live_before, use.allocated, use.peak_allocated});
  facts_.dropped_events = dropped;
}

void SessionFacts::note_peak_before(Bytes peak_live) {
  const std::lock_guard lock(mutex_);
  facts_.peak_live_before = std::max(facts_.peak_live_before, peak_live);
}

void SessionFacts::note_modelled(Bytes modelled, Bytes rounding) {
  const std::lock_guard lock(mutex_);
  facts_.modelled = modelled;
  facts_.recording_excess = facts_.reserved_before - std::min(facts_.reserved_before, modelled + rounding);
}

Bytes SessionFacts::modelled() const {
  const std::lock_guard lock(mutex_);
  return facts_.modelled;
}

Bytes SessionFacts::need(Bytes live_seen, Bytes lasting) {
  const std::lock_guard lock(mutex_);
  facts_.peak_live_seen = std::max(facts_.peak_live_seen, live_seen);
  return std::max({facts_.reserved_before - facts_.recording_excess + lasting, facts_.peak_live_before,
                   facts_.peak_live_seen});
}

void SessionFacts::keep_trace(std::shared_ptr<const Trace> trace) {
  const std::lock_guard lock(mutex_);
  facts_.trace = std::move(trace);
}

std::shared_ptr<const Trace> SessionFacts::trace() const {
  const std::lock_guard lock(mutex_);
  return facts_.trace;
}

void SessionFacts::add_plan(const Plan& plan, bool first) {
  Plan outline = plan;
  outline.entries.clear();
  outline.inner_marks.clear();
  const std::lock_guard lock(mutex_);
  if (first) clear_plans();
  facts_.plans.push_back(std::move(outline));
  facts_.plan_entries.push_back(plan.entries.size());
  if (facts_.switched_at == 0) facts_.switched_at = facts_.iterations;
}

// Requires: the mutex is held.
void SessionFacts::clear_plans() {
  facts_.plans.clear();
  facts_.plan_entries.clear();
}

void SessionFacts::forget_plans() {
  const std::lock_guard lock(mutex_);
  clear_plans();
}

std::uint64_t SessionFacts::count_replan() {
  const std::lock_guard lock(mutex_);
  clear_plans();
  return ++facts_.replans;
}

}  // namespace stowage::session
