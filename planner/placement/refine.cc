#include "planner/placement/refine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

#include "planner/placement/greedy/boost.h"
#include "planner/placement/instance/subset.h"
#include "planner/placement/proofs/bounds.h"
#include "planner/placement/search/minimise.h"
#include "planner/placement/windows/window.h"

namespace stowage::planner::placement {
namespace {

using Clock = std::chrono::steady_clock;

/// One call of refine().
class Stages {
 public:
  Stages(const Instance& instance, Draft draft, const RefineOptions& options)
      : instance_(instance), options_(options), unit_(unit_of(instance)) {
    refined_.draft = std::move(draft);
    refined_.bound = options.techniques.proofs ? clique_bound(instance, options.limits) : instance.bound;
  }

  Refined run() {
    struct Stage {
      bool Techniques::*technique;  // which asks for it
      void (Stages::*run)();
    };
    static constexpr Stage kInOrder[] = {
        {&Techniques::exact, &Stages::exact},
        {&Techniques::boosting, &Stages::boosted},
        {&Techniques::windows, &Stages::windows},
        {&Techniques::proofs, &Stages::proofs},
    };
    for (const Stage& stage : kInOrder) {
      if (options_.techniques.*stage.technique && !done()) (this->*stage.run)();
    }
    refined_.impossible = options_.capacity && refined_.bound > *options_.capacity;
    return std::move(refined_);
  }

 private:
  /// The height at which there is nothing left to do.
  [[nodiscard]] std::uint64_t goal() const { return std::max(options_.capacity.value_or(0), refined_.bound); }
  [[nodiscard]] bool done() const {
    if (options_.limits.over()) return true;  // first: what comes before it may have taken long
    if (options_.capacity && refined_.bound > *options_.capacity) return true;
    return refined_.draft.height <= goal() || refined_.work >= options_.limits.work_limit;
  }

  /// The part of what is left that a stage may use.
  [[nodiscard]] Limits share(double part) const {
    Limits limits = options_.limits;
    const std::uint64_t left = limits.work_limit > refined_.work ? limits.work_limit - refined_.work : 0;
    limits.work_limit =
        std::max<std::uint64_t>(static_cast<std::uint64_t>(part * static_cast<double>(left)), 1);
    if (limits.deadline == Clock::time_point::max()) return limits;
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double> seconds = limits.deadline - now;
    limits.deadline = now + std::chrono::duration_cast<Clock::duration>(part * seconds);
    return limits;
  }

  void take(Draft&& draft, const char* technique) {
    if (draft.offsets.empty() || draft.height >= refined_.draft.height) return;
    if (options_.on_better && !options_.on_better(draft, technique)) return;
    refined_.draft = std::move(draft);
  }

  search::PortfolioOptions portfolio() const {
    search::PortfolioOptions portfolio;
    portfolio.search = options_.search;
    portfolio.search.seed = options_.seed;
    portfolio.glue = options_.techniques.glue;
    portfolio.threads = options_.threads;
    return portfolio;
  }

  /// At the goal; or, where only the least height will do, at many capacities.
  void exact() {
    if (options_.techniques.bisect && !options_.capacity) {
      bisect();
    } else {
      exact_at(goal(), 0.8);
    }
  }

  /// Looks for a placement of at most `capacity` bytes; one that is proved to be impossible raises the bound.
  void exact_at(std::uint64_t capacity, double part) {
    capacity = capacity / unit_ * unit_;
    if (capacity < refined_.bound || !search::supports(instance_, capacity)) return;
    search::Found found = search::find(instance_, capacity, portfolio(), share(part));
    refined_.work += found.work;
    if (found.outcome == search::Outcome::kFound) take(std::move(found.draft), "exact");
    if (found.outcome == search::Outcome::kInfeasible && instance_.parts.empty())
      refined_.bound = std::max(refined_.bound, capacity + unit_);
  }

  /// Capacities between the bound and the best height.
  void bisect() {
    if (!search::supports(instance_, refined_.draft.height)) return;
    search::MinimiseOptions minimise;
    minimise.portfolio = portfolio();
    minimise.lower_bound = refined_.bound;
    minimise.upper_bound = refined_.draft.height;
    minimise.on_better = [&](const Draft& draft) { take(Draft(draft), "exact/bisect"); };
    search::Minimised found = search::minimise(instance_, minimise, share(0.7));
    refined_.work += found.work;
    take(std::move(found.draft), "exact/bisect");
    if (instance_.parts.empty()) refined_.bound = std::max(refined_.bound, found.lower_bound);
  }

  void boosted() {
    const Limits limits = share(0.2);
    for (Key key : {Key::kSize, Key::kArea, Key::kDuration}) {
      if (done()) return;
      WorkMeter meter(limits, limits.work_limit / 3 + 1, alone_, 0);
      Draft draft = refined_.draft;
      boost(instance_, sorted_order(instance_, key), options_.seed, meter, draft);
      refined_.work += meter.used();
      take(std::move(draft), "boost");
    }
  }

  void windows() {
    const Limits limits = share(0.5);
    WorkMeter meter(limits, limits.work_limit, alone_, 0);
    WindowOptions windows;
    windows.ilp = options_.techniques.window_ilp;
    windows.seed = options_.seed;
    Draft draft = refined_.draft;
    improve_by_windows(instance_, goal(), windows, limits, meter, draft);
    refined_.work += meter.used();
    take(std::move(draft), windows.ilp ? "windows/lp_solve" : "windows/exact");
  }

  void proofs() {
    const Limits limits = share(1);
    WorkMeter meter(limits, limits.work_limit, alone_, 0);
    const std::uint64_t height = options_.capacity ? *options_.capacity + unit_ : refined_.draft.height;
    refined_.bound = std::max(refined_.bound, prove_bound(instance_, refined_.bound, height, limits, meter));
    refined_.work += meter.used();
  }

  const Instance& instance_;
  const RefineOptions& options_;
  std::uint64_t unit_;
  const Race alone_{std::numeric_limits<std::uint32_t>::max()};
  Refined refined_;
};

}  // namespace

Refined refine(const Instance& instance, Draft draft, const RefineOptions& options) {
  return Stages(instance, std::move(draft), options).run();
}

}  // namespace stowage::planner::placement
