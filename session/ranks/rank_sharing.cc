#include "session/ranks/rank_sharing.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/format/kept_plans_file.h"
#include "planner/kinds/received_plans.h"
#include "session/ranks/problem_digest.h"
#include "session/settings/notice.h"

namespace stowage::session {
namespace {

using planner::JointOptions;
using planner::Kinds;

/// A claimant that is not heard of for longer than it may take is replaced.
constexpr double kMostPatience_s = 30;
constexpr std::chrono::milliseconds kGrace{1000};
/// What another rank planned may be so much above the bound of this one's lifetimes.
constexpr double kMostAbove = 0.01;

/// Empty if plans cannot be written down.
Exchange::Value encoded(const Result<JointPlan>& made, const JointOptions& options) {
  if (!made) return {};
  KeptPlans shared;
  shared.context.device = options.device;
  shared.plans = made->plans;
  Result<std::vector<std::byte>> bytes = encode_kept_plans(shared);
  return bytes ? std::move(*bytes) : Exchange::Value{};
}

Result<JointPlan> decoded(const Exchange::Value& value, const Kinds& kinds, const JointOptions& options) {
  Result<KeptPlans> shared = decode_kept_plans(value);
  if (!shared) return shared.error();
  Result<JointPlan> plans =
      planner::accept_plans(kinds, options.device, options.in_use, options.tenants, std::move(shared->plans));
  const auto most = [](Bytes bound) { return static_cast<double>(bound.value()) * (1 + kMostAbove); };
  if (plans && static_cast<double>(plans->height.value()) > most(plans->lower_bound))
    return Error{ErrorCode::kInvalidPlan, "it takes more than is needed here"};
  return plans;
}

}  // namespace

planner::BackgroundPlanner::Maker RankSharing::plan_maker() {
  return [this](const Kinds& kinds, const JointOptions& options, const std::stop_token& stop) {
    return plan(kinds, options, stop);
  };
}

std::optional<RankGroup> RankSharing::group() const {
  if (!on_) return std::nullopt;
  std::optional<RankGroup> found = torch_.rank_group();
  return found && found->size > 1 ? found : std::nullopt;
}

// Where sharing itself fails, nothing was made yet.
Result<JointPlan> RankSharing::plan(const Kinds& kinds, const JointOptions& options,
                                    const std::stop_token& stop) {
  try {
    if (const std::optional<RankGroup> ranks = group()) return plan_with(*ranks, kinds, options, stop);
  } catch (const std::exception& error) {
    note(1, std::string("plans are not shared with other ranks: ") + error.what());
  }
  return planner::make_plans(kinds, options, stop);
}

Result<JointPlan> RankSharing::plan_with(const RankGroup& group, const Kinds& kinds,
                                         const JointOptions& options, const std::stop_token& stop) {
  const std::string digest = digest_of(kinds, options);
  note_group(group, digest);
  Exchange exchange(group, "stowage/plans/" + digest, limits_for(options), stop);
  if (const std::optional<Exchange::Value> value = exchange.claim_or_receive()) {
    Result<JointPlan> received = decoded(*value, kinds, options);
    count(received ? &SharingFacts::received : &SharingFacts::refused);
    if (received) {
      note_exchange(exchange);
      return received;
    }
    note(1, "what another rank planned is not used: " + received.error().message);
  }
  Result<JointPlan> made = planner::make_plans(kinds, options, stop);
  if (exchange.claimed() && !stop.stop_requested())
    exchange.publish(encoded(made, options), /*even_unasked=*/options.in_use.empty());
  if (made) count(&SharingFacts::made);
  note_exchange(exchange);
  return made;
}

ExchangeLimits RankSharing::limits_for(const JointOptions& options) const {
  if (limits_) return *limits_;
  ExchangeLimits limits;
  const std::chrono::duration<double> longest(std::min(options.time_limit_s, kMostPatience_s));
  limits.patience = std::chrono::duration_cast<std::chrono::milliseconds>(longest) + kGrace;
  return limits;
}

void RankSharing::note_group(const RankGroup& group, const std::string& digest) {
  const std::lock_guard lock(mutex_);
  facts_.rank = group.rank;
  facts_.ranks = group.size;
  facts_.digest = digest;
}

void RankSharing::count(std::uint64_t SharingFacts::*outcome) {
  const std::lock_guard lock(mutex_);
  ++(facts_.*outcome);
}

void RankSharing::note_exchange(const Exchange& exchange) {
  const Exchange::Counts& counts = exchange.counts();
  if (!counts.failure.empty()) note(1, "plans are not shared with other ranks: " + counts.failure);
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
