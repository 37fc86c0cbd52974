#include "planner/placement/search/minimise.h"

#include <algorithm>
#include <array>
#include <map>

#include "planner/placement/search/hunt.h"

namespace stowage::planner::placement::search {
namespace {

/// The first effort at a capacity; it doubles each time around.
constexpr std::uint64_t kFirstBudget = 20'000'000;

/// Where capacities are tried, as parts of the way from the bound up to the best height. Easy ones come
/// first: each success moves all others down.
constexpr std::array<double, 5> kSteps = {0.5, 0.25, 0.1, 0.03, 0};

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

std::uint64_t stacked_height(const Instance& instance) {
  std::uint64_t height = instance.obstacle_height();
  for (const Piece& piece : instance.pieces) height += piece.size + piece.alignment - 1;
  return height;
}

class Minimiser {
 public:
  Minimiser(const Instance& instance, const MinimiseOptions& options, const Limits& limits)
      : instance_(&instance),
        options_(&options),
        limits_(&limits),
        views_(instance, options.portfolio.glue, limits),
        unit_(views_.whole.forward.unit),
        lower_(round_up(std::max(instance.bound, options.lower_bound), unit_)),
        upper_(std::min(options.upper_bound, stacked_height(instance) + 1)) {}

  Minimised run() {
    if (limits_->stopped()) {
      result_.lower_bound = std::max(instance_->bound, options_->lower_bound);
      return std::move(result_);
    }
    if (lower_ < upper_) attempt(lower_, kFirstBudget);
    for (std::uint64_t budget = kFirstBudget; lower_ < upper_ && !over(); budget *= 2) {
      for (const double step : kSteps) {
        if (lower_ >= upper_ || over()) break;
        const std::uint64_t units = (upper_ - lower_) / unit_;
        const double way = step * static_cast<double>(units);
        attempt(std::min(lower_ + static_cast<std::uint64_t>(way) * unit_, upper_ - 1), budget);
      }
    }
    // A capacity that is too small for pieces taken for solid proves nothing of those with gaps.
    const std::uint64_t known = std::max(instance_->bound, options_->lower_bound);
    result_.lower_bound = instance_->parts.empty() ? std::min(lower_, upper_) : known;
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool over() const { return result_.work >= limits_->work_limit || limits_->over(); }

  void attempt(std::uint64_t capacity, std::uint64_t budget) {
    auto& hunt = hunts_[capacity];
    if (hunt == nullptr)
      hunt = std::make_unique<Hunt>(*instance_, views_, capacity, options_->portfolio, *limits_);
    const Outcome outcome =
        hunt->run(std::min(budget, limits_->work_limit - result_.work), *limits_, result_.work);
    if (outcome == Outcome::kFound) {
      hunt->write(result_.draft);
      upper_ = result_.draft.height;
      if (options_->on_better) options_->on_better(result_.draft);
    } else if (outcome == Outcome::kInfeasible) {
      lower_ = (capacity / unit_ + 1) * unit_;
    }
    hunts_.erase(hunts_.begin(), hunts_.lower_bound(lower_));
    hunts_.erase(hunts_.lower_bound(upper_), hunts_.end());
  }

  const Instance* instance_;
  const MinimiseOptions* options_;
  const Limits* limits_;
  Views views_;
  std::uint64_t unit_;
  std::uint64_t lower_, upper_;
  std::map<std::uint64_t, std::unique_ptr<Hunt>> hunts_;  ///< by capacity: those of open capacities
  Minimised result_;
};

}  // namespace

Found find(const Instance& instance, std::uint64_t capacity, const PortfolioOptions& options,
           const Limits& limits) {
  Found found;
  if (capacity < instance.bound) {
    found.outcome = Outcome::kInfeasible;
    return found;
  }
  const Views views(instance, options.glue, limits);
  if (limits.stopped()) return found;
  Hunt hunt(instance, views, capacity, options, limits);
  found.outcome = hunt.run(limits.work_limit, limits, found.work);
  if (found.outcome == Outcome::kFound) hunt.write(found.draft);
  if (found.outcome == Outcome::kInfeasible && !instance.parts.empty()) found.outcome = Outcome::kOut;
  return found;
}

Minimised minimise(const Instance& instance, const MinimiseOptions& options, const Limits& limits) {
  return Minimiser(instance, options, limits).run();
}

}  // namespace stowage::planner::placement::search
