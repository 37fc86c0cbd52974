#include "tests/planner/optimum/optimum.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "planner/schedule/model/play.h"

namespace stowage::planner::schedule {
namespace {

// Two models with the same key go on alike.
std::string key_of(const OpGraph& graph, const Model& model) {
  std::string key;
  for (std::uint32_t b = 0; b < graph.buffers.size(); ++b)
    key.push_back(static_cast<char>(model.is_resident(b) ? 'r' : model.is_evicted(b) ? 'e' : '-'));
  for (std::uint32_t v = 0; v < graph.values.size(); ++v)
    key.push_back(static_cast<char>(2 * static_cast<int>(model.state_of(v)) + (model.has_recipe(v) ? 1 : 0)));
  return key;
}

class Optimum {
 public:
  Optimum(const OpGraph& graph, std::uint64_t budget) : graph_(graph), budget_(budget) {}

  std::optional<std::uint64_t> least() {
    std::vector<Model> states(1, Model(graph_));
    for (const OpGraph::Event& event : graph_.events) {
      if (event.kind == OpGraph::EventKind::kBegin) states = after(event.index, states);
      for (Model& model : states) {
        if (event.kind == OpGraph::EventKind::kBirth) model.birth(event.index);
        if (event.kind == OpGraph::EventKind::kDeath) model.death(event.index);
        if (event.kind == OpGraph::EventKind::kEnd) model.end(event.index);
      }
    }
    std::optional<std::uint64_t> least;
    for (const Model& model : states) {
      if (model.peak() <= budget_) least = std::min(least.value_or(model.replay_ns()), model.replay_ns());
    }
    return least;
  }

 private:
  // All that the op may leave, after any actions before it.
  std::vector<Model> after(std::uint32_t op, const std::vector<Model>& states) {
    known_.clear();
    waiting_.clear();
    for (const Model& model : states) {
      Model here(model);
      here.come_to(op);
      add(std::move(here));
    }
    std::vector<Model> left;
    while (!waiting_.empty()) {
      const std::string key = waiting_.begin()->second;
      waiting_.erase(waiting_.begin());
      const Model here(known_.at(key));
      for (std::uint32_t b = 0; b < graph_.buffers.size(); ++b) act_on(here, b);
      Model next(here);
      run_op(graph_, next, op);
      if (next.peak() <= budget_) left.push_back(std::move(next));
    }
    return left;
  }

  void act_on(const Model& here, std::uint32_t buffer) {
    if (here.is_evicted(buffer)) {
      Model next(here);
      next.restore(buffer);
      add(std::move(next));
    } else if (graph_.buffers[buffer].may_go && here.may_evict(buffer)) {
      Model next(here);
      if (next.evict(buffer)) add(std::move(next));
    }
  }

  void add(Model model) {
    if (model.peak() > budget_) return;
    std::string key = key_of(graph_, model);
    const std::uint64_t cost = model.replay_ns();
    const auto known = known_.find(key);
    if (known != known_.end()) {
      if (known->second.replay_ns() <= cost) return;
      waiting_.erase({known->second.replay_ns(), key});
      known_.erase(known);
    }
    known_.emplace(key, std::move(model));
    waiting_.insert({cost, std::move(key)});
  }

  const OpGraph& graph_;
  std::uint64_t budget_;
  std::unordered_map<std::string, Model> known_;             // by key, the cheapest
  std::set<std::pair<std::uint64_t, std::string>> waiting_;  // cost and key
};

}  // namespace

std::optional<std::uint64_t> optimal_replay_ns(const OpGraph& graph, std::uint64_t budget) {
  return Optimum(graph, budget).least();
}

}  // namespace stowage::planner::schedule
