#include "session/ranks/rank_sharing.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/format/actions_content.h"
#include "core/format/kept_plans_file.h"
#include "planner/kinds/received_plans.h"
#include "planner/schedule/received_schedule.h"
#include "session/ranks/problem_digest.h"
#include "session/settings/notice.h"

namespace stowage::session {
namespace {

using planner::JointOptions;
using planner::Kinds;
using planner::schedule::Effort;

/// A claimant that is not heard of for longer than its work may take is replaced.
constexpr double kMostPatienceSeconds = 30;
constexpr double kLongestScheduleSeconds = 10;
constexpr double kLongestSearchSeconds = 30;  // for a better one
constexpr std::chrono::milliseconds kGrace{1000};
/// What another rank planned may be so much above the bound of this one's lifetimes.
constexpr double kMostAbove = 0.01;

/// Behind the name of what was searched for so long.
const char* name_of(Effort effort) {
  switch (effort) {
    case Effort::kFirst:
      return "";
    case Effort::kMore:
      return "/more";
    case Effort::kMost:
      return "/most";
  }
  return "";
}

/// Empty if plans cannot be written down.
Exchange::Value encoded(const JointPlan& made, const JointOptions& options) {
  KeptPlans shared;
  shared.context.device = options.device;
  shared.plans = made.plans;
  Result<std::vector<std::byte>> bytes = encode_kept_plans(shared);
  return bytes ? std::move(*bytes) : Exchange::Value{};
}

Result<JointPlan> decoded(const Exchange::Value& value, const Kinds& kinds, const JointOptions& options) {
  Result<KeptPlans> shared = decode_kept_plans(value);
  if (!shared) return shared.error();
  Result<JointPlan> plans = planner::accept_plans(kinds, options.device, options.in_use, options.tenants,
                                                  options.claimed, std::move(shared->plans));
  const auto most = [](Bytes bound) { return static_cast<double>(bound.value()) * (1 + kMostAbove); };
  if (plans && static_cast<double>(plans->height.value()) > most(plans->lower_bound))
    return Error{ErrorCode::kInvalidPlan, "it takes more than is needed here"};
  return plans;
}

}  // namespace

std::optional<RankGroup> RankSharing::group() const {
  if (!on_) return std::nullopt;
  std::optional<RankGroup> found = torch_.rank_group();
  return found && found->size > 1 ? found : std::nullopt;
}

ExchangeLimits RankSharing::limits_for(double longest_s) const {
  if (limits_) return *limits_;
  ExchangeLimits limits;
  const std::chrono::duration<double> longest(std::min(longest_s, kMostPatienceSeconds));
  limits.patience = std::chrono::duration_cast<std::chrono::milliseconds>(longest) + kGrace;
  return limits;
}

// ---- any work

// Where sharing itself fails, the work is still to be done.
template <class Made>
Result<Made> RankSharing::share(const Work<Made>& work, const std::stop_token& stop) {
  try {
    if (const std::optional<RankGroup> ranks = group()) return share_with(*ranks, work, stop);
  } catch (const std::exception& error) {
    note(1, work.noun + " are not shared with other ranks: " + error.what());
  }
  return work.make();
}

template <class Made>
Result<Made> RankSharing::make_here(const Work<Made>& work) {
  Result<Made> made = work.make();
  if (made) count(work.counts, &SharedWork::made);
  return made;
}

template <class Made>
Result<Made> RankSharing::share_with(const RankGroup& group, const Work<Made>& work,
                                     const std::stop_token& stop) {
  note_group(group);
  if (work.for_itself) return make_here(work);
  Exchange exchange(group, work.name, limits_for(work.longest_s), stop);
  if (const std::optional<Exchange::Value> value = exchange.claim_or_receive()) {
    Result<Made> received = work.decode(*value);
    count(work.counts, received ? &SharedWork::received : &SharedWork::refused);
    if (received) {
      note_exchange(exchange);
      return received;
    }
    note(1, "another rank's " + work.noun + " are not used: " + received.error().message);
  }
  Result<Made> made = make_here(work);
  if (exchange.claimed() && !stop.stop_requested())
    exchange.publish(made ? work.encode(*made) : Exchange::Value(), work.even_unasked);
  note_exchange(exchange);
  return made;
}

// ---- plans

planner::BackgroundPlanner::Maker RankSharing::plan_maker() {
  return [this](const Kinds& kinds, const JointOptions& options, const std::stop_token& stop) {
    return plan(kinds, options, stop);
  };
}

Result<JointPlan> RankSharing::plan(const Kinds& kinds, const JointOptions& options,
                                    const std::stop_token& stop) {
  if (!on_) return planner::make_plans(kinds, options, stop);
  const std::string digest = digest_of(kinds, options);
  note_digest(digest);
  Work<JointPlan> work;
  work.name = "stowage/plans/" + digest;
  work.noun = "plans";
  work.even_unasked = options.in_use.empty();
  work.longest_s = options.time_limit_s;
  work.counts = &SharingFacts::plans;
  work.make = [&] { return planner::make_plans(kinds, options, stop); };
  work.encode = [&](const JointPlan& made) { return encoded(made, options); };
  work.decode = [&](const Exchange::Value& value) { return decoded(value, kinds, options); };
  return share(work, stop);
}

// ---- schedules

planner::schedule::BackgroundScheduler::Maker RankSharing::schedule_maker() {
  return [this](const StepLog& log, Bytes budget, Effort effort, const std::stop_token& stop) {
    return schedule(log, budget, effort, stop);
  };
}

Result<Schedule> RankSharing::schedule(const StepLog& log, Bytes budget, Effort effort,
                                       const std::stop_token& stop) {
  const auto make = [&] { return planner::schedule::BackgroundScheduler::make(log, budget, effort, stop); };
  if (!on_ || !log.validate()) return make();
  Work<Schedule> work;
  work.name = "stowage/schedules/" + digest_of(log, budget) + name_of(effort);
  work.noun = "schedules";
  work.longest_s = effort == Effort::kFirst ? kLongestScheduleSeconds : kLongestSearchSeconds;
  work.counts = &SharingFacts::schedules;
  work.for_itself = !is_new(work.name);
  work.make = make;
  work.encode = [](const Schedule& made) { return encode_actions(made.actions); };
  work.decode = [&](const Exchange::Value& value) -> Result<Schedule> {
    std::optional<std::vector<Action>> actions = decode_actions(value);
    if (!actions) return Error{ErrorCode::kDamagedFile, "it is damaged"};
    return planner::schedule::accept_schedule(log, std::move(*actions), budget, stop);
  };
  return share(work, stop);
}

// ---- facts

void RankSharing::note_group(const RankGroup& group) {
  const std::lock_guard lock(mutex_);
  facts_.rank = group.rank;
  facts_.ranks = group.size;
}

void RankSharing::note_digest(const std::string& digest) {
  const std::lock_guard lock(mutex_);
  facts_.digest = digest;
}

bool RankSharing::is_new(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return asked_for_.insert(name).second;
}

void RankSharing::count(SharedWork SharingFacts::*of, std::uint64_t SharedWork::*outcome) {
  const std::lock_guard lock(mutex_);
  ++(facts_.*of.*outcome);
}

void RankSharing::note_exchange(const Exchange& exchange) {
  const Exchange::Counts& counts = exchange.counts();
  if (!counts.failure.empty()) note(1, "the job's ranks do not share: " + counts.failure);
  const std::lock_guard lock(mutex_);
  facts_.failures += counts.failure.empty() ? 0 : 1;
  facts_.looks += counts.looks;
  facts_.sent_bytes += counts.sent_bytes;
  facts_.received_bytes += counts.received_bytes;
  facts_.waited_ns += static_cast<std::uint64_t>(counts.waited.count());
}

SharingFacts RankSharing::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

}  // namespace stowage::session
