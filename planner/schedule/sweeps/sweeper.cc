#include "planner/schedule/sweeps/sweeper.h"

#include <algorithm>
#include <utility>

namespace stowage::planner::schedule {

Sweeper::Sweeper(const OpGraph& graph, std::uint64_t budget, std::uint64_t smallest, const Weights& weights,
                 const std::vector<Step>& first, const Ends& ends)
    : graph_(graph),
      first_(first),
      ends_(ends),
      model_(graph, nullptr, ends.away),
      budget_(budget),
      smallest_(smallest),
      copies_(weights.copies != kNoCopies),
      inputs_leave_(weights.inputs_leave),
      scores_(graph, model_, weights),
      idle_since_(graph.buffers.size(), 0),
      protected_(graph.buffers.size(), 0),
      listed_(graph.buffers.size(), false),
      early_(graph.ops.size()),
      in_turn_(graph.ops.size()),
      held_until_(graph.ops.size()) {
  for (std::uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
    if (graph.buffers[buffer].lasts()) list(buffer);
  }
}

Sweep Sweeper::run() {
  for (const OpGraph::Event& event : graph_.events) {
    if (!take(event)) break;
  }
  Sweep result;
  result.missing = missing_;
  result.failed = failed_;
  result.work = scores_.work() + kLookWork * model_.work();
  for (const std::uint32_t buffer : ends_.away) {
    if (!model_.is_offloaded(buffer)) result.steps.push_back({0, ActionKind::kOffload, buffer});
  }
  for (std::uint32_t op = 0; op < graph_.ops.size(); ++op) {
    for (const std::vector<Step>* steps : {&early_[op], &in_turn_[op]})
      result.steps.insert(result.steps.end(), steps->begin(), steps->end());
  }
  return result;
}

std::vector<std::uint32_t> Sweeper::lasting_away() const {
  std::vector<std::uint32_t> away;
  for (std::uint32_t buffer = 0; buffer < graph_.buffers.size(); ++buffer) {
    if (graph_.buffers[buffer].lasts() && model_.is_offloaded(buffer)) away.push_back(buffer);
  }
  return away;
}

bool Sweeper::take(const OpGraph::Event& event) {
  switch (event.kind) {
    case OpGraph::EventKind::kBirth:
      model_.birth(event.index);
      return true;
    case OpGraph::EventKind::kDeath:
      model_.death(event.index);
      return true;
    case OpGraph::EventKind::kEnd:
      end(event.index);
      return true;
    case OpGraph::EventKind::kBegin:
      return begin(event.index);
  }
  return true;
}

void Sweeper::list(std::uint32_t buffer) {
  const OpGraph::BufferNode& node = graph_.buffers[buffer];
  if ((!node.may_go && node.copy_ns == 0) || node.bytes < smallest_ || listed_[buffer]) return;
  listed_[buffer] = true;
  candidates_.push_back(buffer);
}

void Sweeper::end(std::uint32_t op) {
  model_.end(op);
  for (const OpGraph::Use& use : graph_.inputs(op)) idle_since_[graph_.values[use.value].buffer] = op_ + 1;
  for (const OpGraph::Use& use : graph_.outputs(op)) {
    idle_since_[graph_.values[use.value].buffer] = op_ + 1;
    list(graph_.values[use.value].buffer);
  }
}

bool Sweeper::begin(std::uint32_t op) {
  op_ = op;
  is_ranked_ = false;
  model_.come_to(op);
  restored_.clear();
  for (; next_first_ < first_.size() && first_[next_first_].op == op; ++next_first_) {
    if (!act(first_[next_first_])) return false;
  }
  for (const std::uint32_t buffer : std::exchange(held_until_[op], {})) --protected_[buffer];
  if (inputs_leave_ && !bring_back_hardest_first(op)) return false;
  model_.lock(op);
  if (!bring_back_inputs(op)) return false;
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

bool Sweeper::act(const Step& step) {
  if (step.kind == ActionKind::kEvict || step.kind == ActionKind::kOffload) {
    if (!model_.is_away(step.buffer) && leave(step.buffer, step.kind)) early_[step.op].push_back(step);
    return true;
  }
  if (!model_.is_away(step.buffer)) return true;
  protect_others(step, 1);
  const bool fits = bring_back(step.buffer);
  protect_others(step, -1);
  if (!fits) return false;
  in_turn_[step.op].push_back(step);
  restored_.clear();
  const std::vector<std::uint32_t>& uses = graph_.touched[step.buffer];
  const auto next = std::lower_bound(uses.begin(), uses.end(), step.op);
  if (next == uses.end()) return true;
  ++protected_[step.buffer];
  held_until_[*next].push_back(step.buffer);
  return true;
}

// What the op uses besides stays, but not what can be made from the buffer at once.
void Sweeper::protect_others(const Step& step, int by) {
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

bool Sweeper::fail(std::uint64_t need) {
  missing_ = need - budget_;
  return false;
}

// What lasts and is used no more has to be here when the iteration ends, unless the next one begins without
// it.
bool Sweeper::may_offload(std::uint32_t buffer) const {
  if (!copies_ || !model_.may_offload(buffer)) return false;
  if (graph_.touched[buffer].back() >= op_) return true;
  if (!graph_.buffers[buffer].lasts()) return graph_.buffers[buffer].survives;
  return !ends_.closed || std::binary_search(ends_.away.begin(), ends_.away.end(), buffer);
}

bool Sweeper::leave(std::uint32_t buffer, ActionKind way) {
  if (way == ActionKind::kEvict) return model_.evict(buffer);
  return may_offload(buffer) && model_.offload(buffer);
}

std::optional<Ranking::Entry> Sweeper::ranked(std::uint32_t buffer, bool may_evict) {
  const std::optional<Scores::Best> best = scores_.of(buffer, op_, may_evict, may_offload(buffer));
  if (!best) return std::nullopt;
  return Ranking::Entry{best->score, buffer, best->way};
}

// Sends away the candidate of least score. False if there is none.
bool Sweeper::evict_one() {
  const auto may_leave = [this](std::uint32_t buffer) { return protected_[buffer] == 0; };
  const auto score = [this](std::uint32_t buffer) { return ranked(buffer, model_.may_evict(buffer)); };
  const auto is_gone = [this](std::uint32_t buffer) {
    return !model_.is_resident(buffer) && !model_.is_away(buffer);
  };
  if (!std::exchange(is_ranked_, true)) {
    std::erase_if(candidates_, is_gone);
    ranking_.reset(candidates_, may_leave, score);
  }
  while (const std::optional<Ranking::Entry> least = ranking_.take_least(may_leave, score)) {
    if (leave(least->buffer, least->way)) {
      emit(least->buffer, least->way);
      return true;
    }
    if (least->way != ActionKind::kEvict) continue;
    std::optional<Ranking::Entry> other = ranked(least->buffer, false);
    if (!other) continue;
    other->settled = true;
    ranking_.push(*other);
  }
  return false;
}

void Sweeper::emit(std::uint32_t buffer, ActionKind way) {
  const std::uint32_t idle = idle_since_[buffer];
  if (idle <= op_) return early_[idle].push_back({idle, way, buffer});
  std::vector<Step>& steps = in_turn_[op_];
  steps.insert(steps.end(), restored_.begin(), restored_.end());
  restored_.clear();
  steps.push_back({op_, way, buffer});
}

}  // namespace stowage::planner::schedule
