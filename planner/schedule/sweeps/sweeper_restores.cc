// The part of Sweeper that brings back what ops need.
#include <algorithm>
#include <utility>

#include "planner/schedule/sweeps/sweeper.h"

namespace stowage::planner::schedule {
namespace {

constexpr int kMostParts = 256;  // of one restore: two might bring each other back without end
// Values looked at for parts, in one sweep: each part takes as many as its restore has steps, squared.
constexpr std::uint64_t kMostLooks = 1'000'000;

}  // namespace

// In the order in which the runtime does it.
bool Sweeper::bring_back_inputs(std::uint32_t op) {
  for (const OpGraph::Use& use : graph_.inputs(op)) {
    const std::uint32_t buffer = graph_.values[use.value].buffer;
    if (!bring_back(buffer)) return false;
    idle_since_[buffer] = op + 1;
  }
  return true;
}

// By the most that is held meanwhile. What is here comes last, since it may have left by then.
bool Sweeper::bring_back_hardest_first(std::uint32_t op) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> inputs;
  bool any_away = false;
  for (const OpGraph::Use& use : graph_.inputs(op)) {
    const std::uint32_t buffer = graph_.values[use.value].buffer;
    const bool runs_again = model_.is_evicted(buffer);
    inputs.emplace_back(runs_again ? model_.peak_of(model_.plan(buffer)) : 0, buffer);
    any_away = any_away || model_.is_away(buffer);
  }
  if (!any_away) return true;
  std::sort(inputs.rbegin(), inputs.rend());
  bool fits = true;
  for (const auto& [peak, buffer] : inputs) {
    fits = fits && bring_back(buffer);
    ++protected_[buffer];
  }
  for (const auto& [peak, buffer] : inputs) --protected_[buffer];
  std::vector<Step>& steps = in_turn_[op_];
  steps.insert(steps.end(), restored_.begin(), restored_.end());
  restored_.clear();
  return fits;
}

bool Sweeper::bring_back(std::uint32_t buffer) {
  std::vector<std::uint32_t> parts;
  const bool fits = bring_back_with(buffer, parts);
  for (const std::uint32_t part : parts) --protected_[part];
  return fits;
}

bool Sweeper::bring_back_with(std::uint32_t buffer, std::vector<std::uint32_t>& parts) {
  parts_brought_ = 0;
  while (model_.is_away(buffer)) {
    const bool is_copied = model_.is_offloaded(buffer);
    const Model::Replay replay = is_copied ? Model::Replay() : model_.plan(buffer);
    const std::uint64_t peak =
        is_copied ? model_.held() + graph_.buffers[buffer].bytes : model_.peak_of(replay);
    if (peak <= budget_) {
      bring_back_now(buffer, replay);
      break;
    }
    protect(replay, 1);
    const bool evicted = evict_one();
    protect(replay, -1);
    if (!evicted && !bring_back_a_part(buffer, replay, parts)) {
      failed_ = Step{op_, is_copied ? ActionKind::kRestore : ActionKind::kRematerialize, buffer};
      return fail(peak);
    }
  }
  return true;
}

// What lies halfway comes back first, and stays while the rest is done.
bool Sweeper::bring_back_a_part(std::uint32_t buffer, const Model::Replay& replay,
                                std::vector<std::uint32_t>& parts) {
  const std::uint64_t before = model_.work();
  const bool found = looks_ < kMostLooks && bring_back_some_part(buffer, replay, parts);
  looks_ += model_.work() - before;
  return found;
}

bool Sweeper::bring_back_some_part(std::uint32_t buffer, const Model::Replay& replay,
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

void Sweeper::bring_back_now(std::uint32_t buffer, const Model::Replay& replay) {
  for (const std::uint32_t step : replay.steps) {
    const OpGraph::OpNode& node = graph_.ops[step];
    for (std::uint32_t i = 0; i < node.inputs + node.outputs; ++i)
      idle_since_[graph_.values[graph_.uses[node.first_use + i].value].buffer] = op_ + 1;
  }
  const ActionKind way = model_.is_offloaded(buffer) ? ActionKind::kRestore : ActionKind::kRematerialize;
  model_.restore(buffer);
  if (way == ActionKind::kRestore && is_ranked_) {
    ranking_.push({.buffer = buffer});
  } else {
    is_ranked_ = false;
  }
  idle_since_[buffer] = op_ + 1;
  restored_.push_back({op_, way, buffer});
}

void Sweeper::protect(const Model::Replay& replay, int by) {
  for (const std::uint32_t step : replay.steps) {
    for (const OpGraph::Use& use : graph_.inputs(step)) protected_[graph_.values[use.value].buffer] += by;
  }
}

}  // namespace stowage::planner::schedule
