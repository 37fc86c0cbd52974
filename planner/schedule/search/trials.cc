#include "planner/schedule/search/trials.h"

#include <algorithm>
#include <array>

#include "planner/schedule/blocks/block_plan.h"
#include "planner/schedule/search/overlap.h"
#include "planner/schedule/search/rounds.h"
#include "planner/schedule/search/segments.h"
#include "planner/schedule/sweeps/repair.h"

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kHiddenCopies = 50;  // 1/this of what they take counts: they need memory's bandwidth
constexpr std::uint64_t kMovingWork = 5;     // iterations that moving its copies costs
constexpr std::uint64_t kEventWork = 20;     // steps that playing one event costs, about
constexpr std::uint64_t kBlockWork = 4'000;  // and an option for one held buffer
constexpr double kHalf = 0.5;
constexpr std::array<std::uint64_t, 8> kSegments{2, 3, 4, 6, 8, 12, 16, 24};  // of the budget; for tight ones

}  // namespace

std::uint64_t size_of(const OpGraph& graph) { return kEventWork * (graph.events.size() + graph.uses.size()); }

std::pair<std::uint64_t, std::size_t> cost_of(const Found& found) {
  const Outcome& outcome = found.outcome;
  const std::uint64_t hidden_ns = outcome.copy_ns - std::min(outcome.copy_ns, outcome.wait_ns);
  return {outcome.added_ns() + hidden_ns / kHiddenCopies + kReplayNs * outcome.replays, found.steps.size()};
}

void take_cheaper(std::optional<Found>& best, std::optional<Found> found) {
  if (found && (!best || cost_of(*found) < cost_of(*best))) best = std::move(found);
}

bool Trials::is_over(double part) const {
  return static_cast<double>(work_) >= part * static_cast<double>(limits_.work_limit) ||
         limits_.stop.stop_requested();
}

std::optional<Found> Trials::played(Sweep swept) {
  work_ += 2 * size_of(graph_) + swept.work;
  if (swept.missing) return std::nullopt;
  Found found{std::move(swept.steps), {}};
  Course course;
  found.outcome = play(graph_, found.steps, nullptr, run_beside_ops(graph_.copy_lanes) ? &course : nullptr);
  work_ += kPlayedLookWork * found.outcome.work;
  if (found.outcome.peak > budget_ || found.outcome.refused > 0) return std::nullopt;
  if (!run_beside_ops(graph_.copy_lanes) || found.outcome.copies == 0) return found;
  work_ += kMovingWork * size_of(graph_);
  std::optional<Found> overlapped = overlap_copies(graph_, budget_, found, course);
  return overlapped ? std::move(*overlapped) : std::move(found);
}

std::optional<Found> Trials::with_weights(const Weights& weights, const std::vector<Step>& first) {
  return played(sweep(graph_, budget_, limits_.smallest, weights, first));
}

std::optional<Found> Trials::with_copies() {
  constexpr double kNearlyNothing = 0.02;
  return with_weights(weights_with_copies_at(kNearlyNothing));
}

std::optional<Found> Trials::with_repairs() {
  for (const Weights& weights : kPlainWeights) {
    if (is_over(1)) break;
    Sweep swept = sweep_with_repairs(graph_, budget_, limits_.smallest, weights, limits_.work_limit - work_);
    auto found = played(std::move(swept));
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<Found> Trials::with_segments() {
  const Segments segments(graph_, limits_.smallest);
  std::optional<Found> best;
  const auto try_with = [&](const std::vector<Step>& first) {
    take_cheaper(best, with_weights(weights_with_copies_at(kNoCopies), first));
    if (!best) best = with_weights(kPlainWeights.front(), first);
  };
  for (const std::uint64_t parts : kSegments) try_with(segments.evictions(budget_ / parts));
  try_with(segments.evictions_of_chain());
  return best;
}

// The programme is careful, as it counts whole blocks: with a little room that is not there, what it drops
// may fit, and less runs again. More room than that is there only if it is offloaded.
std::optional<Found> Trials::with_blocks() {
  constexpr std::uint64_t kParts = 20, kMostParts = 12;  // of the budget
  constexpr int kEnough = 4;  // choices that fit, for one part of what is a block's own
  const BlockPlan plan(graph_, limits_.gaps->needed, limits_.smallest);
  Weights some = weights_with_copies_at(0.1);
  some.always = false;
  std::optional<Found> best;
  for (const double own_part : {0.0, 1.0}) {
    int chosen = 0;
    for (std::uint64_t part = 0; part <= kMostParts && chosen < kEnough && !is_over(kHalf); ++part) {
      const std::optional<std::vector<Step>> first = plan.actions(budget_, budget_ / kParts * part, own_part);
      work_ += plan.size() * kBlockWork;
      if (!first) continue;
      ++chosen;
      take_cheaper(best, with_weights(weights_with_copies_at(kNoCopies), *first));
      if (part > 0 && run_beside_ops(graph_.copy_lanes)) take_cheaper(best, with_weights(some, *first));
    }
  }
  return best;
}

}  // namespace stowage::planner::schedule
