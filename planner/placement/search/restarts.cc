#include "planner/placement/search/restarts.h"

#include <algorithm>
#include <limits>

namespace stowage::planner::placement::search {
namespace {

constexpr std::uint64_t kFirstNodes = 1000;  ///< of a restart, at least
constexpr unsigned kMemoBits = 21;           ///< 16 MB
constexpr double kNoise = 0.3;               ///< of the scores of an order, which differ by about 10

}  // namespace

Restarts::Restarts(const Model& model, Units capacity, const SearchOptions& options)
    : options_(options),
      state_(model, capacity),
      failed_(kMemoBits),
      brancher_(state_, options_),
      tree_(state_, brancher_, failed_, options_) {}

Outcome Restarts::next(WorkMeter& meter) {
  if (!state_.hopeful()) return Outcome::kInfeasible;
  if (state_.model().tasks.empty()) return Outcome::kFound;
  const std::uint32_t step = options_.vary ? restart_ : 0;
  const std::uint32_t order = (static_cast<std::uint32_t>(options_.order) + step) % kOrders;
  const std::uint32_t rule = (static_cast<std::uint32_t>(options_.rule) + step / kOrders) % kRules;
  const std::uint32_t cycle = restart_ / (kOrders * kRules);
  const double noise = options_.noise && cycle > 0 ? kNoise : 0;
  std::uint64_t nodes = std::numeric_limits<std::uint64_t>::max();
  if (options_.restarts)
    nodes = std::max<std::uint64_t>(kFirstNodes, 3 * state_.model().tasks.size()) << std::min(cycle, 30u);
  brancher_.set_order(static_cast<Order>(order), static_cast<Rule>(rule), noise,
                      options_.seed * 0x9e3779b97f4a7c15u + restart_);
  ++restart_;
  return tree_.run(nodes, meter);
}

void Restarts::write(const Instance& instance, Draft& draft) const {
  const Model& model = state_.model();
  draft.offsets.assign(instance.pieces.size(), 0);
  draft.height = 0;
  for (const Obstacle& obstacle : instance.obstacles)
    draft.height = std::max(draft.height, obstacle.offset + obstacle.size);
  for (std::uint32_t i = 0; i < model.tasks.size(); ++i) {
    const std::uint32_t piece = model.tasks[i].piece;
    draft.offsets[piece] = static_cast<std::uint64_t>(state_.offset(i)) * model.unit;
    draft.height = std::max(draft.height, draft.offsets[piece] + instance.pieces[piece].size);
  }
}

}  // namespace stowage::planner::placement::search
