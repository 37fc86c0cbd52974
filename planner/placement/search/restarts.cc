#include "planner/placement/search/restarts.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/support/mix.h"

namespace stowage::planner::placement::search {
namespace {

constexpr std::uint64_t kFirstNodes = 700;  ///< of a restart, besides one for each task
constexpr unsigned kMemoBits = 21;          ///< 16 MB
/// How much the scores of an order, which differ by about 10, are disturbed; the first one in the first
/// cycle, the others in turn.
constexpr std::array<double, 3> kNoise = {0, 0.3, 1};
constexpr std::uint32_t kCyclesUntilDoubling = 6;
/// How far each restart's rule is behind the first one's: with kPriority first, that rule begins each
/// direction of time, which settles training steps; kAnywhere, which gets out of heavy tails, has most turns.
constexpr std::array<std::uint32_t, 8> kTurns = {0, 1, 0, 1, 2, 1, 1, 1};

}  // namespace

Restarts::Restarts(const Model& model, Units capacity, const SearchOptions& options)
    : options_(options),
      state_(model, capacity, options.releases),
      failed_(kMemoBits),
      brancher_(state_, options_),
      tree_(state_, brancher_, failed_, options_) {}

Outcome Restarts::next(WorkMeter& meter) {
  if (!state_.hopeful()) return Outcome::kInfeasible;
  if (state_.model().tasks.empty()) return Outcome::kFound;
  const std::uint32_t restart = options_.first_restart + restart_++ * options_.restart_stride;
  const std::uint32_t step = options_.vary ? restart : 0;
  const std::uint32_t order = (static_cast<std::uint32_t>(options_.order) + step / 2) % kOrders;
  const std::uint32_t rule =
      (static_cast<std::uint32_t>(options_.rule) + kTurns[step % kTurns.size()]) % kRules;
  const std::uint32_t cycle = restart / (2 * kOrders);
  const double noise = options_.noise && cycle > 0 ? kNoise[1 + cycle % 2] : kNoise[0];
  std::uint64_t nodes = std::numeric_limits<std::uint64_t>::max();
  if (options_.restarts)
    nodes = (kFirstNodes + state_.model().tasks.size()) << std::min(cycle / kCyclesUntilDoubling, 30u);
  brancher_.set_order(static_cast<Order>(order), static_cast<Rule>(rule), noise,
                      options_.seed * kGoldenGamma + restart);
  return tree_.run(nodes, meter);
}

void Restarts::write(const Instance& instance, Draft& draft) const {
  const Model& model = state_.model();
  draft.offsets.assign(instance.pieces.size(), 0);
  draft.height = instance.obstacle_height();
  for (std::uint32_t i = 0; i < model.tasks.size(); ++i) {
    const std::uint32_t piece = model.tasks[i].piece;
    draft.offsets[piece] = static_cast<std::uint64_t>(state_.offset(i)) * model.unit;
    draft.height = std::max(draft.height, draft.offsets[piece] + instance.pieces[piece].size);
  }
}

}  // namespace stowage::planner::placement::search
