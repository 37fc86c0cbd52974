#include "planner/schedule/search/search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/support/mix.h"
#include "planner/schedule/proofs/overhead_bound.h"
#include "planner/schedule/search/local.h"
#include "planner/schedule/search/rounds.h"
#include "planner/schedule/search/trials.h"

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kMostChanges = 10'000;  // of the best list of actions
constexpr std::uint64_t kFewChanges = 2'000;    // fewer find nothing
constexpr int kFirstRounds = 144;               // of weights with noise, at most
constexpr int kRounds = 384;                    // with those that begin with most of what was found
constexpr int kRoundsBeforeBlocks = 4;
constexpr double kHalf = 0.5;      // of the work: rounds are done with it
constexpr double kQuarter = 0.25;  // late ones begin

// Nothing that is found from now on can be much better.
bool is_near_bound(const Found& found, std::uint64_t bound_ns) {
  constexpr std::uint64_t kSharesOfGap = 100;  // 1/this of the bound
  return found.outcome.added_ns() <= bound_ns + bound_ns / kSharesOfGap;
}

// Blocks would hardly find better ones.
bool is_near_enough(const Found& found, std::uint64_t bound_ns) {
  constexpr std::uint64_t kSharesOfGap = 10;
  return found.outcome.added_ns() <= bound_ns + bound_ns / kSharesOfGap;
}

// Segments and copies whatever they take would hardly find better ones.
bool is_good(const Found& found, std::uint64_t bound_ns) { return found.outcome.added_ns() <= 2 * bound_ns; }

// The cheaper one of both: where evictions alone fit nowhere either may be far from the best.
std::optional<Found> try_others(Trials& trials, const SearchLimits& limits) {
  std::optional<Found> best = trials.with_copies();
  if (!limits.stop.stop_requested()) take_cheaper(best, trials.with_segments());
  return best;
}

// Most of the evictions that were found; with a seed of 0 all of them.
std::vector<Step> part_of(const std::vector<Step>& steps, std::uint64_t seed) {
  SplitMix lots(seed);
  const std::uint64_t left_out = seed == 0 ? 0 : 1 + lots.next() % 8;  // of 16
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

// What sweeps find that begin with all that was found nearby, or with most of it.
std::optional<Found> try_nearby(Trials& trials, const Rounds& rounds, const SearchLimits& limits,
                                const std::uint64_t& work) {
  constexpr int kTries = 2 * static_cast<int>(kPlainWeights.size()), kLeastTries = 4;
  constexpr std::uint64_t kPart = 8;  // 1/this of the work, whatever is left of it
  const std::uint64_t most = work + limits.work_limit / kPart;
  std::optional<Found> best;
  for (int i = 0; i < kTries && !limits.stop.stop_requested(); ++i) {
    if (i >= kLeastTries && work > most) break;
    const std::uint64_t seed = mix(limits.seed + static_cast<std::uint64_t>(i));
    const std::vector<Step>& steps = limits.nearby->steps;
    take_cheaper(best, trials.with_weights(rounds.weights_of(i / 2), part_of(steps, i % 2 == 0 ? 0 : seed)));
  }
  return best;
}

// Leaves out one action after the other, as long as the rest still fits and costs less.
void trim(const OpGraph& graph, std::uint64_t budget, const SearchLimits& limits, std::uint64_t& work,
          Found& found) {
  for (std::size_t at = found.steps.size(); at-- > 0;) {
    if (work >= limits.work_limit || limits.stop.stop_requested()) return;
    Found shorter = found;
    shorter.steps.erase(shorter.steps.begin() + static_cast<std::ptrdiff_t>(at));
    shorter.outcome = play(graph, shorter.steps);
    work += size_of(graph) + kPlayedLookWork * shorter.outcome.work;
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
  const bool copies_overlap = run_beside_ops(graph.copy_lanes);
  Trials trials(graph, budget, limits, work);
  Rounds rounds(limits.seed, copies_overlap);
  std::optional<Found> best;
  if (limits.nearby != nullptr) best = try_nearby(trials, rounds, limits, work);
  OverheadBound bound;
  const auto find_bound = [&] {
    if (best && limits.gaps != nullptr)
      bound = overhead_bound(*limits.gaps, budget, best->outcome.added_ns());
  };
  bool tried_others = false;
  bool begins_with_best = false;
  const int more = copies_overlap ? 2 : 1;  // there are more weights to try
  for (int round = 0; round < more * kRounds; ++round) {
    if (round > 0 && trials.is_over(kHalf)) break;
    const bool is_late = round >= more * kFirstRounds || (tried_others && trials.is_over(kQuarter));
    if (best && is_late && !std::exchange(begins_with_best, true)) trim(graph, budget, limits, work, *best);
    const std::vector<Step> first =
        begins_with_best ? first_of(*best, round, limits.seed) : std::vector<Step>();
    std::optional<Found> found = trials.with_weights(rounds.weights_of(round), first);
    if (found) rounds.note(round, found->outcome.added_ns());
    take_cheaper(best, std::move(found));
    if (best && (best->outcome.replays + best->outcome.copies == 0 || is_near_bound(*best, bound.added_ns)))
      break;
    if (round + 1 == kRoundsBeforeBlocks && limits.gaps != nullptr) {
      find_bound();
      if (!best || !is_near_enough(*best, bound.added_ns)) take_cheaper(best, trials.with_blocks());
    }
    if (round + 1 != static_cast<int>(kPlainWeights.size())) continue;
    find_bound();
    if (!bound.prices.empty()) rounds.use_prices(&bound.prices);
    if (!best || !is_good(*best, bound.added_ns)) take_cheaper(best, try_others(trials, limits));
    tried_others = true;
  }
  // Whatever the work limit: a schedule of any cost is better than none.
  if (!best && !tried_others) best = try_others(trials, limits);
  if (!best) best = trials.with_repairs();
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
    Trials trials(graph, middle, limits, work);
    const auto may_try = [&] { return work < limits.work_limit / kHalvings; };
    bool fits = trials.with_copies().has_value();
    for (std::size_t kind = 0; kind < kPlainWeights.size() && !fits && may_try(); ++kind)
      fits = trials.with_weights(kPlainWeights[kind]).has_value();
    fits = fits || (may_try() && trials.with_segments().has_value());
    (fits ? high : low) = middle;
  }
  return high;
}

}  // namespace stowage::planner::schedule
