#include "planner/schedule/search/search.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/support/mix.h"
#include "planner/schedule/proofs/overhead_bound.h"
#include "planner/schedule/search/local.h"
#include "planner/schedule/search/overlap.h"
#include "planner/schedule/search/rounds.h"
#include "planner/schedule/search/segments.h"
#include "planner/schedule/sweeps/repair.h"
#include "planner/schedule/sweeps/sweep.h"

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kReplayNs = 2000;    // what running any op again costs besides its own time
constexpr std::uint64_t kHiddenCopies = 50;  // 1/this of what they take counts: they need memory's bandwidth
constexpr std::uint64_t kMovingWork = 5;     // iterations that moving its copies costs
constexpr std::uint64_t kEventWork = 20;     // steps that playing one event costs, about
constexpr std::uint64_t kLookWork = 10;      // and looking at one value
constexpr std::uint64_t kMostChanges = 10'000;  // of the best list of actions
constexpr std::uint64_t kFewChanges = 2'000;    // fewer find nothing
constexpr int kFirstRounds = 144;               // of weights with noise, at most
constexpr int kRounds = 384;                    // with those that begin with most of what was found
constexpr std::array<std::uint64_t, 8> kSegments{2, 3, 4, 6, 8, 12, 16, 24};  // of the budget; for tight ones

std::uint64_t size_of(const OpGraph& graph) { return kEventWork * (graph.events.size() + graph.uses.size()); }

auto cost_of(const Found& found) {
  const Outcome& outcome = found.outcome;
  const std::uint64_t hidden_ns = outcome.copy_ns - std::min(outcome.copy_ns, outcome.wait_ns);
  return std::pair(outcome.added_ns() + hidden_ns / kHiddenCopies + kReplayNs * outcome.replays,
                   found.steps.size());
}

void take_cheaper(std::optional<Found>& best, std::optional<Found> found) {
  if (found && (!best || cost_of(*found) < cost_of(*best))) best = std::move(found);
}

// Nothing that is found after the plain weights can be much better.
bool is_near_bound(const Found& found, std::uint64_t bound_ns) {
  constexpr std::uint64_t kSharesOfGap = 100;  // 1/this of the bound
  return found.outcome.added_ns() <= bound_ns + bound_ns / kSharesOfGap;
}

// Segments and copies whatever they take would hardly find better ones.
bool is_good(const Found& found, std::uint64_t bound_ns) { return found.outcome.added_ns() <= 2 * bound_ns; }

std::optional<Found> played(const OpGraph& graph, std::uint64_t budget, Sweep swept, std::uint64_t& work) {
  work += 2 * size_of(graph) + swept.work;
  if (swept.missing) return std::nullopt;
  Found found{std::move(swept.steps), {}};
  Course course;
  found.outcome = play(graph, found.steps, nullptr, run_beside_ops(graph.copy_lanes) ? &course : nullptr);
  work += kLookWork * found.outcome.work;
  if (found.outcome.peak > budget || found.outcome.refused > 0) return std::nullopt;
  if (!run_beside_ops(graph.copy_lanes) || found.outcome.copies == 0) return found;
  work += kMovingWork * size_of(graph);
  std::optional<Found> overlapped = overlap_copies(graph, budget, found, course);
  return overlapped ? std::move(*overlapped) : std::move(found);
}

std::optional<Found> try_weights(const OpGraph& graph, std::uint64_t budget, std::uint64_t smallest,
                                 const Weights& weights, std::uint64_t& work,
                                 const std::vector<Step>& first = {}) {
  return played(graph, budget, sweep(graph, budget, smallest, weights, first), work);
}

// Whatever copies cost: what is copied comes back without any other buffer.
std::optional<Found> try_copies(const OpGraph& graph, std::uint64_t budget, std::uint64_t smallest,
                                std::uint64_t& work) {
  constexpr double kNearlyNothing = 0.02;
  return try_weights(graph, budget, smallest, weights_with_copies_at(kNearlyNothing), work);
}

std::optional<Found> try_repairs(const OpGraph& graph, std::uint64_t budget, const SearchLimits& limits,
                                 std::uint64_t& work) {
  for (const Weights& weights : kPlainWeights) {
    if (work >= limits.work_limit || limits.stop.stop_requested()) break;
    Sweep swept = sweep_with_repairs(graph, budget, limits.smallest, weights, limits.work_limit - work);
    auto found = played(graph, budget, std::move(swept), work);
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<Found> try_segments(const OpGraph& graph, std::uint64_t budget, std::uint64_t smallest,
                                  std::uint64_t& work) {
  const Segments segments(graph, smallest);
  std::optional<Found> best;
  const auto try_with = [&](const std::vector<Step>& first) {
    const Weights without = weights_with_copies_at(kNoCopies);
    take_cheaper(best, try_weights(graph, budget, smallest, without, work, first));
    if (!best) best = try_weights(graph, budget, smallest, kPlainWeights.front(), work, first);
  };
  for (const std::uint64_t parts : kSegments) try_with(segments.evictions(budget / parts));
  try_with(segments.evictions_of_chain());
  return best;
}

// The cheaper one of both: where evictions alone fit nowhere either may be far from the best.
std::optional<Found> try_others(const OpGraph& graph, std::uint64_t budget, const SearchLimits& limits,
                                std::uint64_t& work) {
  std::optional<Found> best = try_copies(graph, budget, limits.smallest, work);
  if (!limits.stop.stop_requested()) take_cheaper(best, try_segments(graph, budget, limits.smallest, work));
  return best;
}

// Most of the evictions that were found.
std::vector<Step> part_of(const std::vector<Step>& steps, std::uint64_t seed) {
  SplitMix lots(seed);
  const std::uint64_t left_out = 1 + lots.next() % 8;  // of 16
  std::vector<Step> part;
  for (const Step& step : steps) {
    const bool leaves = step.kind == ActionKind::kEvict || step.kind == ActionKind::kOffload;
    if (leaves && lots.next() % 16 >= left_out) part.push_back(step);
  }
  return part;
}

// What a late round is to begin with; some begin with nothing.
std::vector<Step> first_of(const Found& best, int round, std::uint64_t seed) {
  constexpr int kAnew = 4;  // one of so many
  if (round % kAnew == 0) return {};
  return part_of(best.steps, mix(seed + static_cast<std::uint64_t>(round)));
}

// Leaves out one action after the other, as long as the rest still fits and costs less.
void trim(const OpGraph& graph, std::uint64_t budget, const SearchLimits& limits, std::uint64_t& work,
          Found& found) {
  for (std::size_t at = found.steps.size(); at-- > 0;) {
    if (work >= limits.work_limit || limits.stop.stop_requested()) return;
    Found shorter = found;
    shorter.steps.erase(shorter.steps.begin() + static_cast<std::ptrdiff_t>(at));
    shorter.outcome = play(graph, shorter.steps);
    work += size_of(graph) + kLookWork * shorter.outcome.work;
    if (shorter.outcome.peak <= budget && shorter.outcome.refused == 0 && cost_of(shorter) < cost_of(found))
      found = std::move(shorter);
  }
}

// Where a change is played so fast that thousands can be.
void try_changes(const OpGraph& graph, std::uint64_t budget, const SearchLimits& limits, std::uint64_t& work,
                 Found& found) {
  const std::uint64_t work_of_one = 2 * size_of(graph);
  const std::uint64_t left = limits.work_limit - std::min(limits.work_limit, work);
  const std::uint64_t changes = std::min(kMostChanges, left / 2 / work_of_one);
  if (changes < kFewChanges) return;
  work += changes * work_of_one;
  Found changed = improve(graph, budget, found, changes, limits.seed, limits.stop);
  if (cost_of(changed) < cost_of(found)) found = std::move(changed);
}

}  // namespace

std::optional<Found> search(const OpGraph& graph, std::uint64_t budget, const SearchLimits& limits,
                            std::uint64_t& work) {
  std::optional<Found> best;
  const bool copies_overlap = run_beside_ops(graph.copy_lanes);
  Rounds rounds(limits.seed, copies_overlap);
  OverheadBound bound;
  bool tried_others = false;
  bool begins_with_best = false;
  const int more = copies_overlap ? 2 : 1;  // there are more weights to try
  for (int round = 0; round < more * kRounds; ++round) {
    if (round > 0 && (work >= limits.work_limit / 2 || limits.stop.stop_requested())) break;
    const bool is_late = round >= more * kFirstRounds || (tried_others && work >= limits.work_limit / 4);
    if (best && is_late && !std::exchange(begins_with_best, true)) trim(graph, budget, limits, work, *best);
    const std::vector<Step> first =
        begins_with_best ? first_of(*best, round, limits.seed) : std::vector<Step>();
    const Weights weights = rounds.weights_of(round);
    std::optional<Found> found = try_weights(graph, budget, limits.smallest, weights, work, first);
    if (found) rounds.note(round, found->outcome.added_ns());
    take_cheaper(best, std::move(found));
    if (best && (best->outcome.replays + best->outcome.copies == 0 || is_near_bound(*best, bound.added_ns)))
      break;
    if (round + 1 != static_cast<int>(kPlainWeights.size())) continue;
    if (best && limits.gaps != nullptr)
      bound = overhead_bound(*limits.gaps, budget, best->outcome.added_ns());
    if (!bound.prices.empty()) rounds.use_prices(&bound.prices);
    if (!best || !is_good(*best, bound.added_ns)) take_cheaper(best, try_others(graph, budget, limits, work));
    tried_others = true;
  }
  // Whatever the work limit: a schedule of any cost is better than none.
  if (!best && !tried_others) best = try_others(graph, budget, limits, work);
  if (!best) best = try_repairs(graph, budget, limits, work);
  if (!best) return best;
  trim(graph, budget, limits, work, *best);
  if (best->outcome.added_ns() > 0 && !is_near_bound(*best, bound.added_ns))
    try_changes(graph, budget, limits, work, *best);
  return best;
}

std::uint64_t least_budget(const OpGraph& graph, std::uint64_t low, std::uint64_t high,
                           const SearchLimits& limits) {
  constexpr std::uint64_t kHalvings = 8;
  for (std::uint64_t i = 0; i < kHalvings && high - low > 1 && !limits.stop.stop_requested(); ++i) {
    const std::uint64_t middle = low + (high - low) / 2;
    std::uint64_t work = 0;
    const auto may_try = [&] { return work < limits.work_limit / kHalvings; };
    bool fits = try_copies(graph, middle, limits.smallest, work).has_value();
    for (std::size_t kind = 0; kind < kPlainWeights.size() && !fits && may_try(); ++kind)
      fits = try_weights(graph, middle, limits.smallest, kPlainWeights[kind], work).has_value();
    fits = fits || (may_try() && try_segments(graph, middle, limits.smallest, work).has_value());
    (fits ? high : low) = middle;
  }
  return high;
}

}  // namespace stowage::planner::schedule
