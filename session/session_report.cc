// A session's figures, and its report (keys in docs/report.md).
#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "core/format/trace_file.h"
#include "core/timed_ops.h"
#include "session/session_state.h"

namespace stowage::session {
namespace {

using Json = nlohmann::ordered_json;

// Share of the reserved memory that no tensor used at the peak.
double fragmentation(Bytes peak, Bytes reserved) {
  if (reserved.value() == 0 || peak >= reserved) return 0;
  return 1.0 - static_cast<double>(peak.value()) / static_cast<double>(reserved.value());
}

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

Json plans_json(const Facts& facts) {
  Json plans = Json::array();
  for (std::size_t i = 0; i < facts.plans.size(); ++i) {
    const Plan& plan = facts.plans[i];
    plans.push_back({{"fingerprint", hex(plan.fingerprint)},
                     {"entries", facts.plan_entries[i]},
                     {"height_bytes", plan.height.value()},
                     {"lower_bound_bytes", plan.lower_bound.value()},
                     {"proved_optimal", plan.proved_optimal},
                     {"technique", plan.technique},
                     {"planning_ms", static_cast<double>(plan.planning_ns) / 1e6}});
  }
  return plans;
}

void add_counts(Json& json, const allocator::ServeCounts& counts) {
  json["planned_iterations"] = counts.iterations;
  json["clean_iterations"] = counts.clean_iterations;
  json["hits"] = counts.hits;
  json["planned_upstream"] = counts.planned_upstream;
  json["misses"] = {
      {"unexpected", counts.misses[0]}, {"slot_in_use", counts.misses[1]}, {"beyond_plan", counts.misses[2]}};
  json["last_iteration_misses"] = counts.last_iteration_misses;
  json["improvised"] = counts.improvised;
  json["displaced"] = counts.displaced;
  json["online"] = counts.online;
  json["missed_bytes"] = counts.missed_bytes;
  json["served_bytes"] = counts.served_bytes;
}

Json losses_json(const ActivityLosses& lost) {
  return {{"dropped", lost.dropped},           {"refused_buffers", lost.refused_buffers},
          {"lost_buffers", lost.lost_buffers}, {"unknown", lost.unknown},
          {"unfinished", lost.unfinished},     {"untimed", lost.untimed},
          {"uncorrelated", lost.uncorrelated}, {"unattributed", lost.unattributed},
          {"missing_work", lost.missing_work}, {"beyond_limit", lost.beyond_limit}};
}

Json op_times_json(const TimedOps& ops) {
  Json by = Json::object();
  for (std::size_t source = 0; source < ops.size(); ++source)
    if (ops[source] > 0) by[to_string(static_cast<TimeSource>(source))] = ops[source];
  return by;
}

void add_op_times(Json& json, const Trace& trace) {
  if (trace.ops.empty()) return;
  json["op_times"] = op_times_json(count_timed_ops(trace.ops));
  if (!trace.activities.empty() || trace.losses != ActivityLosses{})
    json["activity_losses"] = losses_json(trace.losses);
}

constexpr double kMilli = 1e6;  // nanoseconds

Json sharing_json(const SharingFacts& facts) {
  return {{"rank", facts.rank},
          {"ranks", facts.ranks},
          {"plans_made", facts.plans.made},
          {"plans_received", facts.plans.received},
          {"plans_refused", facts.plans.refused},
          {"schedules_made", facts.schedules.made},
          {"schedules_received", facts.schedules.received},
          {"schedules_refused", facts.schedules.refused},
          {"failures", facts.failures},
          {"looks", facts.looks},
          {"sent_bytes", facts.sent_bytes},
          {"received_bytes", facts.received_bytes},
          {"waited_ms", static_cast<double>(facts.waited_ns) / kMilli},
          {"digest", facts.digest}};
}

Json schedule_json(const ScheduleFacts& facts) {
  return {{"followed", facts.followed},
          {"since_iteration", facts.since},
          {"evictions", facts.evictions},
          {"recomputed_ops", facts.recomputed_ops},
          {"recompute_ms", static_cast<double>(facts.recompute_ns) / kMilli},
          {"encode_ms", static_cast<double>(facts.encode_ns) / kMilli},
          {"copies", facts.copies},
          {"copy_ms", static_cast<double>(facts.copy_ns) / kMilli},
          {"wait_ms", static_cast<double>(facts.wait_ns) / kMilli},
          {"least_ms", static_cast<double>(facts.least_ns) / kMilli},
          {"ops_ms", static_cast<double>(facts.ops_ns) / kMilli},
          {"op_times", op_times_json(facts.timed_ops)},
          {"peak_bytes", facts.peak.value()},
          {"height_bytes", facts.height.value()},
          {"iterations", facts.iterations},
          {"resynced", facts.resynced},
          {"left", facts.left},
          {"kinds", facts.kinds},
          {"rooms", facts.rooms},
          {"tightened", facts.tightened},
          {"improved", facts.improved},
          {"evictions_before", facts.evictions_before},
          {"made", facts.kept.made},
          {"kept_found", facts.kept.found},
          {"kept_refused", facts.kept.refused},
          {"reason", facts.reason}};
}

Json budget_json(const BudgetFacts& facts) {
  return {{"setting", facts.setting},
          {"limit_bytes", facts.limit.value()},
          {"excess_bytes", facts.excess.value()},
          {"own_peak_bytes", facts.own_peak.value()},
          {"held_bytes", facts.held.value()},
          {"peak_held_bytes", facts.peak_held.value()},
          {"iteration_peak_held_bytes", facts.last_iteration_peak.value()},
          {"watching", facts.watching},
          {"joins", facts.joins},
          {"joined_at_iteration", facts.joined_at},
          {"shortages", facts.shortages},
          {"refusals", facts.refusals},
          {"evictions", facts.counts.evictions},
          {"evicted_bytes", facts.counts.evicted_total.value()},
          {"restores", facts.counts.restores},
          {"recomputed_ops", facts.counts.replays},
          {"ops", facts.counts.ops},
          {"ops_ms", static_cast<double>(facts.counts.ops_ns) / kMilli},
          {"recompute_ms", static_cast<double>(facts.counts.replay_ns) / kMilli},
          {"recompute_cost_ms", static_cast<double>(facts.counts.replay_cost_ns) / kMilli},
          {"search_ms", static_cast<double>(facts.counts.search_ns) / kMilli},
          {"encodings", facts.counts.encodings},
          {"encoded_bytes", facts.counts.encoded_total.value()},
          {"offloads", facts.counts.offloads},
          {"offloaded_bytes", facts.counts.offloaded_total.value()},
          {"copied_bytes", facts.counts.copied_total.value()},
          {"offloaded_now_bytes", facts.counts.offloaded.value()},
          {"fetches", facts.counts.fetches},
          {"copy_ms", static_cast<double>(facts.counts.copy_ns) / kMilli},
          {"copy_cost_ms", static_cast<double>(facts.counts.copy_cost_ns) / kMilli},
          {"schedule", schedule_json(facts.schedule)}};
}

}  // namespace

SessionState Session::state() const { return state_->state.load(std::memory_order_acquire); }

const TraceInfo& Session::info() const { return state_->info; }

Bytes Session::arena_bytes() const { return state_->arena.committed_bytes(); }

Bytes Session::arena_live_bytes() const {
  return state_->hot.forked.load(std::memory_order_relaxed) ? Bytes(0) : state_->arena.live_bytes();
}

Bytes Session::peak_bytes() const {
  const allocator::PlannedAllocator* owner = state_->hot.owner.load(std::memory_order_acquire);
  const bool readable = owner != nullptr && !state_->hot.forked.load(std::memory_order_relaxed);
  return readable ? owner->peak_bytes() : Bytes(0);
}

void Session::reset_peak() {
  allocator::PlannedAllocator* owner = state_->hot.owner.load(std::memory_order_acquire);
  if (owner != nullptr && !state_->hot.forked.load(std::memory_order_relaxed)) owner->reset_peak();
}

std::string Session::report_json() const {
  const State& state = *state_;
  Json json;
  json["device"] = to_string(state.info.device.kind);
  json["device_index"] = state.info.device.index;
  json["device_name"] = state.info.device_name;
  json["state"] = to_string(state.state.load());
  if (state.hot.forked.load()) return json.dump();
  const Facts facts = state.facts.all();
  json["reason"] = facts.reason;
  json["iterations"] = facts.iterations;
  json["switched_at_iteration"] = facts.switched_at;
  json["planned_from_start"] = facts.from_start;
  json["replans"] = facts.replans;
  json["dropped_events"] = facts.dropped_events;
  const UpstreamUse use = state.port.upstream_use();
  Bytes peak_before = facts.peak_live_before;
  if (facts.switched_at == 0 && !facts.from_start)
    peak_before = std::max({peak_before, use.allocated, use.peak_allocated});
  const Bytes peak_after = peak_bytes();
  const Bytes peak = std::max(peak_before, peak_after);
  const Bytes reserved_before = std::max(facts.reserved_before, peak_before);
  const BudgetFacts budget = state.budget.facts();
  Bytes reserved_after = state.guard.reserved_after();
  // Once the limit is met the ledger's count is the exact one: the arena is mapped as a whole, but may be
  // counted block by block.
  if (budget.limit.value() != 0) reserved_after = std::min(reserved_after, budget.peak_held);
  json["peak_live_bytes"] = peak.value();
  json["reserved_before_bytes"] = reserved_before.value();
  json["reserved_after_bytes"] = reserved_after.value();
  json["fragmentation_before"] = fragmentation(peak_before, reserved_before);
  json["fragmentation_after"] = fragmentation(peak_after, reserved_after);
  json["arena_bytes"] = arena_bytes().value();
  json["arena_live_bytes"] = arena_live_bytes().value();
  json["plans"] = plans_json(facts);
  json["plans_height_bytes"] = facts.plans_height.value();
  json["plans_lower_bound_bytes"] = facts.plans_lower_bound.value();
  const allocator::PlannedAllocator* owner = state.hot.owner.load();
  allocator::ServeCounts counts = owner == nullptr ? allocator::ServeCounts{} : owner->counts();
  counts.add_earlier(facts.earlier);
  add_counts(json, counts);
  json["upstream_allocated_bytes"] = use.allocated.value();
  json["upstream_reserved_bytes"] = use.reserved.value();
  if (facts.trace) add_op_times(json, *facts.trace);
  if (const SharingFacts shared = state.sharing.facts(); shared.ranks > 0)
    json["sharing"] = sharing_json(shared);
  if (!budget.setting.empty()) json["budget"] = budget_json(budget);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status Session::save_trace(const std::string& path) const {
  const State& state = *state_;
  if (const std::shared_ptr<const Trace> trace = state.facts.trace())
    return stowage::save_trace(state.facts.with_phases(*trace), path);
  if (tracer::Recorder* recorder = state.hot.recorder.load())
    return stowage::save_trace(state.facts.with_phases(recorder->snapshot()), path);
  return Error{ErrorCode::kNotFound,
               "nothing was recorded yet; enable Stowage and run some iterations first"};
}

}  // namespace stowage::session
