#include "planner/schedule/search/sweep.h"

#include <algorithm>
#include <utility>

#include "planner/schedule/search/scores.h"

namespace stowage::planner::schedule {
namespace {

class Sweeper {
 public:
  Sweeper(const OpGraph& graph, std::uint64_t budget, std::uint64_t smallest, const Weights& weights,
          const std::vector<Step>& first)
      : graph_(graph),
        first_(first),
        model_(graph),
        budget_(budget),
        smallest_(smallest),
        scores_(graph, model_, weights),
        idle_since_(graph.buffers.size(), 0),
        protected_(graph.buffers.size(), 0),
        listed_(graph.buffers.size(), false),
        early_(graph.ops.size()),
        in_turn_(graph.ops.size()),
        held_until_(graph.ops.size()) {}

  Sweep run() {
    for (const OpGraph::Event& event : graph_.events) {
      if (!take(event)) break;
    }
    Sweep result;
    result.missing = missing_;
    result.failed = failed_;
    result.work = scores_.work() + kLookWork * model_.work();
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
    for (; next_first_ < first_.size() && first_[next_first_].op == op; ++next_first_) {
      if (!act(first_[next_first_])) return false;
    }
    for (const std::uint32_t buffer : std::exchange(held_until_[op], {})) --protected_[buffer];
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

  bool act(const Step& step) {
    if (step.kind == ActionKind::kEvict) {
      if (model_.evict(step.buffer)) early_[step.op].push_back(step.buffer);
      return true;
    }
    if (!model_.is_evicted(step.buffer)) return true;
    protect_others(step, 1);
    const bool fits = bring_back(step.buffer);
    protect_others(step, -1);
    if (!fits) return false;
    in_turn_[step.op].push_back({step.op, ActionKind::kRematerialize, step.buffer});
    restored_.clear();
    const std::vector<std::uint32_t>& uses = graph_.touched[step.buffer];
    const auto next = std::lower_bound(uses.begin(), uses.end(), step.op);
    if (next == uses.end()) return true;
    ++protected_[step.buffer];
    held_until_[*next].push_back(step.buffer);
    return true;
  }

  // What the op uses besides stays, but not what can be made from the buffer at once.
  void protect_others(const Step& step, int by) {
    for (const OpGraph::Use& use : graph_.inputs(step.op)) {
      const OpGraph::ValueNode& value = graph_.values[use.value];
      if (value.buffer == step.buffer) continue;
      const auto starts_there = [&](const OpGraph::Use& from) {
        return graph_.values[from.value].buffer == step.buffer;
      };
      const bool made_from_it =
          value.maker != kNone && std::ranges::any_of(graph_.inputs(value.maker), starts_there);
      if (!made_from_it) protected_[value.buffer] += by;
    }
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
    parts_brought_ = 0;
    while (model_.is_evicted(buffer)) {
      const Model::Replay replay = model_.plan(buffer);
      const std::uint64_t peak = model_.peak_of(replay);
      if (peak <= budget_) {
        bring_back_now(buffer, replay);
        break;
      }
      protect(replay, 1);
      const bool evicted = evict_one();
      protect(replay, -1);
      if (!evicted && !bring_back_a_part(buffer, replay, parts)) {
        failed_ = Step{op_, ActionKind::kRematerialize, buffer};
        return fail(peak);
      }
    }
    return true;
  }

  // What lies halfway comes back first, and stays while the rest is done.
  bool bring_back_a_part(std::uint32_t buffer, const Model::Replay& replay,
                         std::vector<std::uint32_t>& parts) {
    for (auto step = replay.steps.rbegin(); step != replay.steps.rend(); ++step) {
      for (const OpGraph::Use& out : graph_.outputs(*step)) {
        const std::uint32_t part = graph_.values[out.value].buffer;
        if (part == buffer || model_.current(part) != out.value || !model_.is_evicted(part)) continue;
        const Model::Replay shorter = model_.plan(part);
        if (shorter.steps.size() >= replay.steps.size() || model_.peak_of(shorter) > budget_) continue;
        bring_back_now(part, shorter);
        // What comes before it is needed no more, or is an input of what is left.
        for (const std::uint32_t earlier : std::exchange(parts, {part})) --protected_[earlier];
        ++protected_[part];
        return ++parts_brought_ <= kMostParts;
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
      return !model_.is_resident(buffer) && !model_.is_evicted(buffer);
    });
    ranked_.clear();
    for (const std::uint32_t buffer : candidates_) {
      if (protected_[buffer] == 0 && model_.may_evict(buffer))
        ranked_.emplace_back(scores_.of(buffer, op_), buffer);
    }
    while (!ranked_.empty()) {
      const auto least = std::min_element(ranked_.begin(), ranked_.end());
      const std::uint32_t buffer = least->second;
      if (model_.evict(buffer)) {
        emit(buffer);
        return true;
      }
      *least = ranked_.back();
      ranked_.pop_back();
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

  const OpGraph& graph_;
  const std::vector<Step>& first_;
  std::size_t next_first_ = 0;
  Model model_;
  const std::uint64_t budget_;
  const std::uint64_t smallest_;
  Scores scores_;
  std::uint32_t op_ = 0;
  std::vector<std::uint32_t> idle_since_;  ///< by buffer: before which op it may be evicted at the earliest
  std::vector<int> protected_;             ///< by buffer
  std::vector<std::uint32_t> candidates_;  ///< buffers that the job has
  std::vector<bool> listed_;               ///< by buffer: once among the candidates
  std::vector<std::uint32_t> restored_;    ///< at this op, and not yet among its actions
  std::vector<std::vector<std::uint32_t>> early_;         ///< by op: evicted before all else
  std::vector<std::vector<Step>> in_turn_;                ///< by op
  std::vector<std::vector<std::uint32_t>> held_until_;    ///< by op: restored early for it
  std::vector<std::pair<double, std::uint32_t>> ranked_;  ///< score and buffer
  std::optional<std::uint64_t> missing_;
  std::optional<Step> failed_;
  static constexpr int kMostParts = 256;  // of one restore: two might bring each other back without end
  int parts_brought_ = 0;
};

}  // namespace

Sweep sweep(const OpGraph& graph, std::uint64_t budget, std::uint64_t smallest, const Weights& weights,
            const std::vector<Step>& first) {
  return Sweeper(graph, budget, smallest, weights, first).run();
}

}  // namespace stowage::planner::schedule
