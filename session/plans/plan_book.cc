#include "session/plans/plan_book.h"

#include <algorithm>
#include <map>
#include <utility>

namespace stowage::session {
namespace {

constexpr double kStepsPerSecond = 2e8;  // of placement; those of small problems take longest

/// The fingerprints of a steady window's iterations, and of those that the trace has twice.
std::vector<std::uint64_t> repeated_in(const Trace& trace) {
  std::map<std::uint64_t, int> times;
  std::vector<std::uint64_t> found;
  Tick begin{0};
  for (const Mark& mark : trace.marks) {
    const std::uint64_t seen = fingerprint(trace, begin, mark.tick);
    const bool steady = trace.steady && begin >= trace.steady->begin && mark.tick <= trace.steady->end;
    if (++times[seen] == 2 || steady) found.push_back(seen);
    begin = mark.tick;
  }
  return found;
}

bool is_of(const std::vector<Plan>& plans, std::uint64_t fingerprint) {
  return std::any_of(plans.begin(), plans.end(),
                     [&](const Plan& plan) { return plan.fingerprint == fingerprint; });
}

}  // namespace

// ---- kinds of iterations

Status PlanBook::learn(const Trace& trace, const planner::KindBook::Wanted& wanted) {
  const auto known = [&](std::uint64_t fingerprint) { return wanted(fingerprint) || repeats(fingerprint); };
  if (next_opening_) static_cast<void>(next_kinds_.observe(trace, known));
  if (adopted_) learn_anew(trace);
  Status learned = kinds_.observe(trace, known);
  if (adopted_) note_passed_on();
  return learned;
}

bool PlanBook::repeats(std::uint64_t fingerprint) const {
  return kinds_.knows(fingerprint) || is_of(in_use_.plans, fingerprint);
}

bool PlanBook::plans(std::uint64_t fingerprint) const {
  return repeats(fingerprint) || is_of(opening_, fingerprint);
}

// ---- making

planner::JointOptions PlanBook::options_for(double good_enough, std::vector<planner::Tenant> tenants,
                                            std::vector<StreamRange> claimed) const {
  planner::JointOptions options;
  options.device = info_.device.kind;
  options.work_limit = settings_.plan_work;
  options.time_limit_s = settings_.plan_seconds;
  options.good_enough = good_enough;
  options.tenants = std::move(tenants);
  options.claimed = std::move(claimed);
  return options;
}

Status PlanBook::submit(planner::JointOptions options, Making making) {
  if (!source_) source_ = make_plan_source(settings_.fault, sharing_);
  if (making != Making::kFirst) options.in_use = in_use_.plans;
  Status submitted = source_->submit(kinds_.kinds(), std::move(options));
  if (submitted) making_ = making;
  return submitted;
}

Status PlanBook::make_first(const Trace& trace, bool has_beginning) {
  kinds_ = {};
  in_use_ = {};
  found_by_.reset();
  next_opening_.reset();
  next_is_due_ = lacks_beginning_ = adopted_ = false;
  opening_.clear();
  lasting_.clear();
  const std::vector<std::uint64_t> repeated = repeated_in(trace);
  const auto wanted = [&](std::uint64_t fingerprint) {
    return std::find(repeated.begin(), repeated.end(), fingerprint) != repeated.end();
  };
  if (Status learned = kinds_.observe(trace, wanted); !learned) return learned;
  if (has_beginning) learn_beginning(trace);
  return submit(options_for(kGoodEnough, {}), Making::kFirst);
}

Status PlanBook::make_anew(std::vector<planner::Tenant> tenants, std::vector<StreamRange> claimed,
                           Bytes tolerable, std::optional<Bytes> most) {
  planner::JointOptions options = options_for(kGoodEnough, std::move(tenants), std::move(claimed));
  options.tolerable = tolerable;
  options.most = most;
  return submit(std::move(options), Making::kAnew);
}

void PlanBook::make_lower(std::vector<planner::Tenant> tenants, std::vector<StreamRange> claimed,
                          double good_enough, double seconds) {
  if (!source_) return;
  planner::JointOptions options = options_for(good_enough, std::move(tenants), std::move(claimed));
  options.total_work = static_cast<std::uint64_t>(seconds * kStepsPerSecond);
  static_cast<void>(submit(std::move(options), Making::kLower));
}

std::optional<Result<JointPlan>> PlanBook::poll(std::chrono::milliseconds wait) {
  std::optional<Result<JointPlan>> made = source_->poll(wait);
  if (made) making_ = Making::kNothing;
  return made;
}

void PlanBook::cancel() {
  if (source_) source_->cancel();
  making_ = Making::kNothing;
}

// ---- in use

std::vector<std::uint64_t> PlanBook::crossing_offsets() const {
  std::vector<std::uint64_t> offsets;
  for (const Plan& plan : in_use_.plans) {
    for (const PlanEntry& entry : plan.entries) {
      for (const Offset offset : {entry.offset, entry.spare})
        if (entry.crosses && offset != kUpstream) offsets.push_back(offset.value());
    }
  }
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

std::uint32_t PlanBook::outlives(Offset offset, Bytes rounded) const {
  const auto found = passed_on_.find({offset.value(), rounded.value()});
  return found == passed_on_.end() ? 0 : found->second;
}

void PlanBook::use(JointPlan plans) {
  if (plans.opening != 0) plans = take_opening(std::move(plans));
  in_use_ = std::move(plans);
  for (const Plan& plan : in_use_.plans) kinds_.adopt(plan);
  note_passed_on();
}

void PlanBook::note_passed_on() {
  passed_on_.clear();
  for (const Plan& plan : in_use_.plans) {
    const planner::Kind* const kind = kinds_.find(plan.fingerprint);
    for (std::size_t i = 0; i < plan.entries.size(); ++i) {
      const PlanEntry& entry = plan.entries[i];
      if (!entry.crosses) continue;
      const std::uint32_t ends = kind == nullptr ? 1 : std::max(1u, kind->allocations[i].outlived);
      for (const Offset offset : {entry.offset, entry.spare}) {
        if (offset == kUpstream) continue;
        std::uint32_t& most = passed_on_[{offset.value(), entry.rounded.value()}];
        most = std::max(most, ends);
      }
    }
  }
}

// ---- between runs

std::optional<PlanBook::Kept> PlanBook::find_kept(const Trace& trace) {
  for (std::uint32_t marks = 1; marks <= kMaxPeriodMarks; ++marks) {
    const std::optional<Window> window = last_window(trace, marks);
    if (!window) return std::nullopt;
    if (std::optional<std::vector<Plan>> found = cache_.find(trace, *window)) {
      found_by_ = found->front().fingerprint;
      lacks_beginning_ = adopted_ = true;
      return Kept{std::move(*found), *window, marks};
    }
  }
  return std::nullopt;
}

// The one that they are found by comes first.
std::vector<Plan> PlanBook::to_keep() const {
  std::vector<Plan> plans = in_use_.plans;
  std::stable_partition(plans.begin(), plans.end(),
                        [this](const Plan& plan) { return plan.fingerprint == found_by_; });
  if (plans.size() > kMostKeptPlans) plans.resize(kMostKeptPlans);
  return plans;
}

void PlanBook::keep() {
  if (in_use_.plans.empty()) return;
  const bool anew = found_by_.has_value();
  if (!anew) {
    const std::size_t last = in_use_.history.empty() ? 0 : in_use_.history.back();
    found_by_ = in_use_.plans[last].fingerprint;
  }
  cache_.store(to_keep(), anew);
  next_is_due_ = next_opening_.has_value();
  const bool is_renewed = next_opening_ || lacks_beginning_;
  if (began_planned() && !is_renewed && !keep_opening()) renew_opening();
}

void PlanBook::forget_kept() {
  const std::vector<Plan> kept = to_keep();
  if (!kept.empty()) cache_.forget(kept.front());
  found_by_.reset();
  cache_.forget_opening();
  next_opening_.reset();
  next_is_due_ = false;
}

}  // namespace stowage::session
