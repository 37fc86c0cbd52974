#include "planner/schedule/search/sweep.h"

#include <algorithm>
#include <cmath>

#include "core/support/mix.h"

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kReplayNs = 2000;  // what running any op again costs at least
constexpr std::uint64_t kLookWork = 30;    // about what looking at one value costs
constexpr std::size_t kManyValues = 64;    // looked at for one score; beyond, the score is a guess

// std::pow, fast for the powers that are used most.
double raised(double base, double power) {
  if (power == 1) return base;
  return power == 0 ? 1 : std::pow(base, power);
}

class Sweeper {
 public:
  Sweeper(const OpGraph& graph, std::uint64_t budget, std::uint64_t smallest, const Weights& weights)
      : graph_(graph),
        model_(graph),
        budget_(budget),
        smallest_(smallest),
        weights_(weights),
        idle_since_(graph.buffers.size(), 0),
        protected_(graph.buffers.size(), 0),
        next_touch_(graph.buffers.size(), 0),
        listed_(graph.buffers.size(), false),
        early_(graph.ops.size()),
        in_turn_(graph.ops.size()),
        op_seen_(graph.ops.size(), 0),
        value_seen_(graph.values.size(), 0) {
    std::uint64_t clock = 0;
    for (const OpGraph::OpNode& op : graph.ops) starts_.push_back(clock += op.cost_ns + kReplayNs);
  }

  Sweep run() {
    for (const OpGraph::Event& event : graph_.events) {
      if (!take(event)) break;
    }
    Sweep result;
    result.missing = missing_;
    result.work = work_ + kLookWork * model_.work();
    for (std::uint32_t op = 0; op < graph_.ops.size(); ++op) {
      for (const std::uint32_t buffer : early_[op]) result.steps.push_back({op, ActionKind::kEvict, buffer});
      result.steps.insert(result.steps.end(), in_turn_[op].begin(), in_turn_[op].end());
    }
    return result;
  }

 private:
  bool take(const OpGraph::Event& event) {
    switch (event.kind) {
      case OpGraph::EventKind::kBirth:
        model_.birth(event.index);
        return true;
      case OpGraph::EventKind::kDeath:
        model_.death(event.index);
        return true;
      case OpGraph::EventKind::kEnd:
        model_.end(event.index);
        for (const OpGraph::Use& use : graph_.inputs(event.index))
          idle_since_[graph_.values[use.value].buffer] = op_ + 1;
        for (const OpGraph::Use& use : graph_.outputs(event.index)) born(graph_.values[use.value].buffer);
        return true;
      case OpGraph::EventKind::kBegin:
        return begin(event.index);
    }
    return true;
  }

  void born(std::uint32_t buffer) {
    idle_since_[buffer] = op_ + 1;
    if (!graph_.buffers[buffer].may_go || graph_.buffers[buffer].bytes < smallest_ || listed_[buffer]) return;
    listed_[buffer] = true;
    candidates_.push_back(buffer);
  }

  bool begin(std::uint32_t op) {
    op_ = op;
    model_.come_to(op);
    restored_.clear();
    model_.lock(op);
    for (const OpGraph::Use& use : graph_.inputs(op)) {
      const std::uint32_t buffer = graph_.values[use.value].buffer;
      if (!bring_back(buffer)) return false;
      idle_since_[buffer] = op + 1;
    }
    for (const OpGraph::Use& use : graph_.inputs(op)) {
      if (!OpGraph::writes(use.role)) continue;
      model_.freeze(use.value);
      for (const std::uint32_t dependent : model_.dependents(use.value)) {
        if (!bring_back(dependent)) return false;
      }
    }
    for (const OpGraph::Use& use : graph_.inputs(op)) {
      if (OpGraph::writes(use.role)) model_.close(use.value);
    }
    while (model_.need_of(op) > budget_) {
      if (!evict_one()) return fail(model_.need_of(op));
    }
    model_.run(op);
    return true;
  }

  bool fail(std::uint64_t need) {
    missing_ = need - budget_;
    return false;
  }

  bool bring_back(std::uint32_t buffer) {
    std::vector<std::uint32_t> parts;
    const bool fits = bring_back_with(buffer, parts);
    for (const std::uint32_t part : parts) --protected_[part];
    return fits;
  }

  bool bring_back_with(std::uint32_t buffer, std::vector<std::uint32_t>& parts) {
    while (model_.is_away(buffer)) {
      const Model::Replay replay = model_.plan(buffer);
      const std::uint64_t peak = model_.peak_of(replay);
      if (peak <= budget_) {
        bring_back_now(buffer, replay);
        break;
      }
      protect(replay, 1);
      const bool evicted = evict_one();
      protect(replay, -1);
      if (!evicted && !bring_back_a_part(buffer, replay, parts)) return fail(peak);
    }
    return true;
  }

  // What lies halfway comes back first, and stays while the rest is done.
  bool bring_back_a_part(std::uint32_t buffer, const Model::Replay& replay,
                         std::vector<std::uint32_t>& parts) {
    for (auto step = replay.steps.rbegin(); step != replay.steps.rend(); ++step) {
      for (const OpGraph::Use& out : graph_.outputs(*step)) {
        const std::uint32_t part = graph_.values[out.value].buffer;
        if (part == buffer || model_.current(part) != out.value || !model_.is_away(part)) continue;
        const Model::Replay shorter = model_.plan(part);
        if (shorter.steps.size() >= replay.steps.size() || model_.peak_of(shorter) > budget_) continue;
        bring_back_now(part, shorter);
        ++protected_[part];
        parts.push_back(part);
        return true;
      }
    }
    return false;
  }

  void bring_back_now(std::uint32_t buffer, const Model::Replay& replay) {
    for (const std::uint32_t step : replay.steps) {
      const OpGraph::OpNode& node = graph_.ops[step];
      for (std::uint32_t i = 0; i < node.inputs + node.outputs; ++i)
        idle_since_[graph_.values[graph_.uses[node.first_use + i].value].buffer] = op_ + 1;
    }
    model_.restore(buffer);
    restored_.push_back(buffer);
  }

  void protect(const Model::Replay& replay, int by) {
    for (const std::uint32_t step : replay.steps) {
      for (const OpGraph::Use& use : graph_.inputs(step)) protected_[graph_.values[use.value].buffer] += by;
    }
  }

  // Evicts the candidate of least score. False if there is none.
  bool evict_one() {
    std::erase_if(candidates_, [this](std::uint32_t buffer) {
      return !model_.is_here(buffer) && !model_.is_away(buffer);
    });
    scores_.clear();
    for (const std::uint32_t buffer : candidates_) {
      if (protected_[buffer] == 0 && model_.may_evict(buffer)) scores_.emplace_back(score(buffer), buffer);
    }
    while (!scores_.empty()) {
      const auto least = std::min_element(scores_.begin(), scores_.end());
      const std::uint32_t buffer = least->second;
      if (model_.evict(buffer)) {
        emit(buffer);
        return true;
      }
      *least = scores_.back();
      scores_.pop_back();
    }
    return false;
  }

  void emit(std::uint32_t buffer) {
    if (idle_since_[buffer] <= op_) return early_[idle_since_[buffer]].push_back(buffer);
    for (const std::uint32_t back : restored_)
      in_turn_[op_].push_back({op_, ActionKind::kRematerialize, back});
    restored_.clear();
    in_turn_[op_].push_back({op_, ActionKind::kEvict, buffer});
  }

  double score(std::uint32_t buffer) {
    const std::uint32_t value = model_.current(buffer);
    const double cost = static_cast<double>(cost_of(value));
    const auto bytes = static_cast<double>(graph_.buffers[buffer].bytes);
    const auto gap = static_cast<double>(time_of(next_need(value)) - time_of(op_) + 1);
    const double jitter =
        weights_.noise == 0
            ? 1
            : 1 + weights_.noise * static_cast<double>(mix(weights_.seed + mix(buffer)) >> 40u) / (1u << 24u);
    return jitter * raised(cost, weights_.cost_power) /
           (raised(bytes, weights_.bytes_power) * raised(gap, weights_.gap_power));
  }

  std::uint64_t time_of(std::uint64_t op) const {
    return op < starts_.size() ? starts_[op] : starts_.back() + kReplayNs;
  }

  // What bringing it back would run, with all that is absent below it.
  std::uint64_t cost_of(std::uint32_t value) {
    waiting_.assign(1, graph_.values[value].maker);
    op_seen_[waiting_[0]] = ++stamp_;
    std::uint64_t cost = 0;
    for (std::size_t looked = 0; !waiting_.empty() && looked < kManyValues; ++looked) {
      work_ += kLookWork;
      const std::uint32_t op = waiting_.back();
      waiting_.pop_back();
      cost += graph_.ops[op].cost_ns + kReplayNs;
      for (const OpGraph::Use& use : graph_.inputs(op)) {
        if (!OpGraph::feeds(use.role) || !model_.has_recipe(use.value) || model_.materialised(use.value))
          continue;
        const std::uint32_t maker = graph_.values[use.value].maker;
        if (op_seen_[maker] == stamp_) continue;
        op_seen_[maker] = stamp_;
        waiting_.push_back(maker);
      }
    }
    return cost;
  }

  // The next op that needs it, itself or to bring back something absent above it.
  std::uint64_t next_need(std::uint32_t value) {
    std::uint64_t need = next_touch(graph_.values[value].buffer);
    waiting_.assign(1, value);
    ++stamp_;
    for (std::size_t looked = 0; !waiting_.empty() && looked < kManyValues; ++looked) {
      work_ += kLookWork;
      const std::uint32_t at = waiting_.back();
      waiting_.pop_back();
      for (const std::uint32_t reader : graph_.readers[at]) {
        if (reader >= op_) break;
        for (const OpGraph::Use& out : graph_.outputs(reader)) {
          const std::uint32_t home = graph_.values[out.value].buffer;
          if (out.role != ValueRole::kMade || model_.materialised(out.value)) continue;
          if (model_.current(home) == out.value && model_.is_away(home)) {
            need = std::min(need, next_touch(home));
          } else if (value_seen_[out.value] != stamp_) {
            value_seen_[out.value] = stamp_;
            waiting_.push_back(out.value);
          }
        }
      }
    }
    return need;
  }

  std::uint64_t next_touch(std::uint32_t buffer) {
    const std::vector<std::uint32_t>& ops = graph_.touched[buffer];
    std::uint32_t& at = next_touch_[buffer];
    while (at < ops.size() && ops[at] <= op_) ++at;
    return at < ops.size() ? ops[at] : graph_.ops.size();
  }

  const OpGraph& graph_;
  Model model_;
  const std::uint64_t budget_;
  const std::uint64_t smallest_;
  const Weights weights_;
  std::uint32_t op_ = 0;
  std::vector<std::uint64_t> starts_;      ///< by op, ns
  std::vector<std::uint32_t> idle_since_;  ///< by buffer: before which op it may be evicted at the earliest
  std::vector<int> protected_;             ///< by buffer
  std::vector<std::uint32_t> next_touch_;  ///< by buffer: index into OpGraph::touched
  std::vector<std::uint32_t> candidates_;  ///< buffers that the job has
  std::vector<bool> listed_;               ///< by buffer: once among the candidates
  std::vector<std::uint32_t> restored_;    ///< at this op, and not yet among its actions
  std::vector<std::vector<std::uint32_t>> early_;  ///< by op: evicted before all else
  std::vector<std::vector<Step>> in_turn_;         ///< by op
  std::vector<std::pair<double, std::uint32_t>> scores_;
  std::vector<std::uint64_t> op_seen_, value_seen_;  ///< the latest look that came by
  std::uint64_t stamp_ = 0;
  std::vector<std::uint32_t> waiting_;
  std::optional<std::uint64_t> missing_;
  std::uint64_t work_ = 0;
};

}  // namespace

Sweep sweep(const OpGraph& graph, std::uint64_t budget, std::uint64_t smallest, const Weights& weights) {
  return Sweeper(graph, budget, smallest, weights).run();
}

}  // namespace stowage::planner::schedule
