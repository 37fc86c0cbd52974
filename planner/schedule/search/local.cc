#include "planner/schedule/search/local.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/support/mix.h"

namespace stowage::planner::schedule {
namespace {

constexpr double kWarm = 0.05;      // of the cost: so much more is taken one time in e at first
constexpr double kPerPart = 4;      // what is held beyond the budget costs, in the cost per budget
constexpr std::uint64_t kWays = 4;  // to change a list

class Annealing {
 public:
  Annealing(const OpGraph& graph, std::uint64_t budget, const Found& found, std::uint64_t seed)
      : graph_(graph), budget_(budget), lots_(seed), best_(found), present_(found) {
    for (std::uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
      const OpGraph::BufferNode& node = graph.buffers[buffer];
      if (node.may_go && node.bytes > 0 && !graph.touched[buffer].empty()) evictable_.push_back(buffer);
    }
    unit_ = std::max(1.0, static_cast<double>(found.outcome.added_ns()));
  }

  Found run(std::uint64_t changes, const std::stop_token& stop) {
    for (std::uint64_t i = 0; i < changes && !evictable_.empty() && !stop.stop_requested(); ++i) {
      const double warmth = kWarm * unit_ * (1 - static_cast<double>(i) / static_cast<double>(changes));
      Found changed{changed_steps(), {}};
      changed.outcome = play(graph_, changed.steps);
      const double more = cost_of(changed) - cost_of(present_);
      if (more > 0 && (warmth <= 0 || part() > std::exp(-more / warmth))) continue;
      present_ = std::move(changed);
      if (present_.outcome.peak > budget_ || present_.outcome.added_ns() >= best_.outcome.added_ns())
        continue;
      drop_refused();
      if (present_.outcome.refused == 0) best_ = present_;
    }
    return best_;
  }

 private:
  std::uint32_t below(std::size_t n) { return static_cast<std::uint32_t>(lots_.next() % n); }
  double part() { return static_cast<double>(lots_.next() >> 11u) / static_cast<double>(1ull << 53u); }

  [[nodiscard]] double cost_of(const Found& found) const {
    const std::uint64_t beyond = found.outcome.peak - std::min(found.outcome.peak, budget_);
    const double parts = static_cast<double>(beyond) / static_cast<double>(budget_);
    return static_cast<double>(found.outcome.added_ns()) + kPerPart * unit_ * parts;
  }

  // What could not be done did nothing.
  void drop_refused() {
    for (std::size_t at = present_.steps.size(); at-- > 0 && present_.outcome.refused > 0;) {
      Found shorter = present_;
      shorter.steps.erase(shorter.steps.begin() + static_cast<std::ptrdiff_t>(at));
      shorter.outcome = play(graph_, shorter.steps);
      if (shorter.outcome.refused < present_.outcome.refused && shorter.outcome.peak <= budget_ &&
          shorter.outcome.added_ns() <= present_.outcome.added_ns())
        present_ = std::move(shorter);
    }
  }

  std::vector<Step> changed_steps() {
    std::vector<Step> steps = present_.steps;
    const std::uint32_t way = below(kWays);
    if (way == 0 || steps.empty()) {
      add(steps);
    } else if (way == 1) {
      steps.erase(steps.begin() + below(steps.size()));
    } else if (way == 2) {
      move(steps);
    } else {
      steps.erase(steps.begin() + below(steps.size()));
      add(steps);
    }
    std::ranges::stable_sort(steps, {}, &Step::op);
    return steps;
  }

  // At an op between its first and its last use: it leaves, or comes back though nothing asks for it yet.
  void add(std::vector<Step>& steps) {
    const std::uint32_t buffer = evictable_[below(evictable_.size())];
    const std::vector<std::uint32_t>& uses = graph_.touched[buffer];
    const std::uint32_t op = uses.front() + below(uses.back() - uses.front() + 1);
    const bool leaves = below(3) != 0;
    const Step step{op, leaves ? ActionKind::kEvict : ActionKind::kRematerialize, buffer};
    steps.insert(steps.begin() + below(steps.size() + 1), step);
  }

  void move(std::vector<Step>& steps) {
    const auto at = steps.begin() + below(steps.size());
    Step step = *at;
    steps.erase(at);
    const std::uint32_t by = 1 + below(3);
    const bool later = below(2) == 0;
    const auto last = static_cast<std::uint32_t>(graph_.ops.size() - 1);
    step.op = later ? std::min(last, step.op + by) : step.op - std::min(step.op, by);
    steps.insert(steps.begin() + below(steps.size() + 1), step);
  }

  const OpGraph& graph_;
  const std::uint64_t budget_;
  SplitMix lots_;
  Found best_, present_;
  std::vector<std::uint32_t> evictable_;
  double unit_ = 1;
};

}  // namespace

Found improve(const OpGraph& graph, std::uint64_t budget, const Found& found, std::uint64_t changes,
              std::uint64_t seed, const std::stop_token& stop) {
  return Annealing(graph, budget, found, seed).run(changes, stop);
}

}  // namespace stowage::planner::schedule
