#include "planner/schedule/model/play.h"

namespace stowage::planner::schedule {

void run_op(const OpGraph& graph, Model& model, std::uint32_t op) {
  model.lock(op);
  for (const OpGraph::Use& use : graph.inputs(op)) model.restore(graph.values[use.value].buffer);
  for (const OpGraph::Use& use : graph.inputs(op)) {
    if (!OpGraph::writes(use.role)) continue;
    model.freeze(use.value);
    for (const std::uint32_t dependent : model.dependents(use.value)) model.restore(dependent);
  }
  for (const OpGraph::Use& use : graph.inputs(op)) {
    if (OpGraph::writes(use.role)) model.close(use.value);
  }
  model.run(op);
}

Outcome play(const OpGraph& graph, const std::vector<Step>& steps, std::vector<Span>* spans) {
  Model model(graph, spans);
  Outcome outcome;
  std::size_t next = 0;
  for (const OpGraph::Event& event : graph.events) {
    switch (event.kind) {
      case OpGraph::EventKind::kBirth:
        model.birth(event.index);
        break;
      case OpGraph::EventKind::kDeath:
        model.death(event.index);
        break;
      case OpGraph::EventKind::kEnd:
        model.end(event.index);
        break;
      case OpGraph::EventKind::kBegin:
        model.come_to(event.index);
        for (; next < steps.size() && steps[next].op == event.index; ++next) {
          const Step& step = steps[next];
          if (step.kind == ActionKind::kRematerialize) {
            model.restore(step.buffer);
          } else if (!model.evict(step.buffer)) {
            ++outcome.refused;
          }
        }
        run_op(graph, model, event.index);
        break;
    }
  }
  outcome.peak = model.peak();
  outcome.replays = model.replays();
  outcome.replay_ns = model.replay_ns();
  outcome.work = model.work();
  return outcome;
}

}  // namespace stowage::planner::schedule
