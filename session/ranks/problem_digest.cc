#include "session/ranks/problem_digest.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/kept_plans.h"
#include "session/ranks/digest.h"

namespace stowage::session {
namespace {

/// Ranks whose peaks differ by a few bytes have about the same share of them as budget.
constexpr std::uint64_t kBudgetSteps = 1024;

void add(Digest& digest, const planner::Kind& kind) {
  digest.add(kind.fingerprint);
  digest.add(kind.allocations.size());
  for (const planner::Allocation& one : kind.allocations) {
    digest.add(one.rounded.value());
    digest.add(one.stream.value());
  }
}

void add(Digest& digest, const planner::Transition& transition) {
  digest.add(transition.from);
  digest.add(transition.to);
}

void add(Digest& digest, const Plan& plan) {
  digest.add(plan.fingerprint);
  digest.add(plan.entries.size());
  for (const PlanEntry& entry : plan.entries) {
    digest.add(entry.rounded.value());
    digest.add(entry.stream.value());
    digest.add(entry.offset.value());
    digest.add(entry.spare.value());
  }
}

void add(Digest& digest, const planner::Tenant& tenant) {
  digest.add(tenant.offset.value());
  digest.add(tenant.rounded.value());
  digest.add(tenant.stream.value());
}

void add(Digest& digest, const StreamRange& range) {
  digest.add(range.stream.value());
  digest.add(range.begin.value());
  digest.add(range.end.value());
}

template <class Element>
void add_all(Digest& digest, const std::vector<Element>& elements) {
  digest.add(elements.size());
  for (const Element& element : elements) add(digest, element);
}

bool are_of_several_streams(const std::vector<StreamRange>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const StreamRange& range) { return range.stream != ranges.front().stream; });
}

}  // namespace

std::string digest_of(const planner::Kinds& kinds, const planner::JointOptions& options) {
  Digest digest;
  digest.add(kSharedVersion);
  digest.add(kKeptPlansVersion);
  digest.add(static_cast<std::uint64_t>(options.device));
  digest.add(options.work_limit);
  digest.add(options.total_work);
  digest.add(std::bit_cast<std::uint64_t>(options.time_limit_s));
  digest.add(std::bit_cast<std::uint64_t>(options.good_enough));
  digest.add(options.tolerable.value());  // not `most`, which differs by a few bytes
  add_all(digest, kinds.kinds);
  add_all(digest, kinds.transitions);
  add_all(digest, options.in_use);
  add_all(digest, options.tenants);
  // What one stream has everywhere keeps nothing out, and what was improvised differs between ranks.
  if (are_of_several_streams(options.claimed)) add_all(digest, options.claimed);
  return digest.text();
}

std::string digest_of(const StepLog& log, Bytes budget) {
  Digest digest;
  digest.add(kSharedVersion);
  digest.add(std::bit_floor(budget.value()));
  digest.add(budget.value() / std::max<std::uint64_t>(std::bit_floor(budget.value()) / kBudgetSteps, 1));
  digest.add(log.shape_hashes.size());
  for (const std::uint64_t shape : log.shape_hashes) digest.add(shape);
  digest.add(log.made.size());
  for (const BufferId made : log.made) digest.add(log.trace.buffers[made.value()].rounded.value());
  return digest.text();
}

}  // namespace stowage::session
