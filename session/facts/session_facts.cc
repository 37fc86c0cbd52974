#include "session/facts/session_facts.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace stowage::session {
namespace {

std::uint64_t realtime_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

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
  facts_.recording_excess = saturating_sub(facts_.reserved_before, modelled + rounding);
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

void SessionFacts::note_phase(const char* name) {
  const std::lock_guard lock(mutex_);
  if (!facts_.phases.empty() && std::string_view(facts_.phases.back().name) == name) return;
  facts_.phases.push_back({name, realtime_ns()});
}

Trace SessionFacts::with_phases(const Trace& trace) const {
  Trace copy = trace;
  std::vector<Facts::Since> phases = all().phases;
  phases.push_back({"trace written", realtime_ns()});
  for (const Facts::Since& phase : phases) {
    const std::uint64_t begin_ns = phase.realtime_ns - std::min(phase.realtime_ns, trace.clock_realtime_ns);
    // The system's clock may have been set back meanwhile.
    const std::uint64_t before_ns = copy.phases.empty() ? 0 : copy.phases.back().begin_ns;
    copy.phases.push_back({static_cast<std::uint32_t>(copy.names.size()), std::max(begin_ns, before_ns)});
    copy.names.emplace_back(phase.name);
  }
  return copy;
}

void SessionFacts::keep_trace(std::shared_ptr<const Trace> trace) {
  const std::lock_guard lock(mutex_);
  facts_.trace = std::move(trace);
}

std::shared_ptr<const Trace> SessionFacts::trace() const {
  const std::lock_guard lock(mutex_);
  return facts_.trace;
}

void SessionFacts::note_switch() {
  const std::lock_guard lock(mutex_);
  if (facts_.switched_at == 0) facts_.switched_at = facts_.iterations;
}

void SessionFacts::use_plans(const JointPlan& plans) {
  const std::lock_guard lock(mutex_);
  clear_plans();
  for (const Plan& plan : plans.plans) {
    Plan outline = plan;
    outline.entries.clear();
    outline.inner_marks.clear();
    facts_.plans.push_back(std::move(outline));
    facts_.plan_entries.push_back(plan.entries.size());
  }
  facts_.plans_height = plans.height;
  facts_.plans_lower_bound = plans.lower_bound;
  if (facts_.switched_at == 0 && !facts_.from_start) facts_.switched_at = facts_.iterations;
}

void SessionFacts::begin_planned(bool planned, Bytes need) {
  const std::lock_guard lock(mutex_);
  facts_.from_start = planned;
  facts_.reserved_before = need;
  if (!planned) clear_plans();
}

// Requires: the mutex is held.
void SessionFacts::clear_plans() {
  facts_.plans.clear();
  facts_.plan_entries.clear();
  facts_.plans_height = facts_.plans_lower_bound = Bytes(0);
}

void SessionFacts::note_move(const allocator::ServeCounts& served) {
  const std::lock_guard lock(mutex_);
  facts_.earlier.add_earlier(served);
}

void SessionFacts::forget_plans() {
  const std::lock_guard lock(mutex_);
  clear_plans();
  facts_.earlier = {};
}

std::uint64_t SessionFacts::count_replan() {
  const std::lock_guard lock(mutex_);
  clear_plans();
  facts_.earlier = {};
  return ++facts_.replans;
}

}  // namespace stowage::session
