#include "planner/schedule/model/play.h"

#include <algorithm>
#include <set>

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

std::vector<std::uint32_t> left_away(const OpGraph& graph, const std::vector<Step>& steps) {
  std::set<std::uint32_t> away;
  for (const Step& step : steps) {
    if (!graph.buffers[step.buffer].lasts()) continue;
    const bool goes = step.kind == ActionKind::kOffload && graph.touched[step.buffer].back() < step.op;
    goes ? static_cast<void>(away.insert(step.buffer)) : static_cast<void>(away.erase(step.buffer));
  }
  return {away.begin(), away.end()};
}

namespace {

bool is_done(Model& model, const Step& step) {
  switch (step.kind) {
    case ActionKind::kEvict:
      return model.evict(step.buffer);
    case ActionKind::kOffload:
      return model.offload(step.buffer);
    case ActionKind::kRematerialize:
    case ActionKind::kRestore:
      if (model.is_away(step.buffer)) model.restore(step.buffer);
      return true;
    case ActionKind::kStore:
      return model.store(step.buffer);
    case ActionKind::kPrefetch:
      if (model.is_away(step.buffer)) model.prefetch(step.buffer);
  }
  return true;
}

// Buffers whose bytes are elsewhere than when the next iteration begins.
std::uint64_t misplaced_at_end(const OpGraph& graph, const Model& model,
                               const std::vector<std::uint32_t>& away) {
  std::uint64_t found = 0;
  for (std::uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
    const bool leaves_away = std::binary_search(away.begin(), away.end(), buffer);
    if (graph.buffers[buffer].lasts() && model.is_offloaded(buffer) != leaves_away) ++found;
  }
  return found;
}

}  // namespace

Outcome play(const OpGraph& graph, const std::vector<Step>& steps, std::vector<Span>* spans, Course* course) {
  const std::vector<std::uint32_t> away = left_away(graph, steps);
  Model model(graph, spans, away);
  if (course != nullptr) model.note_copies(&course->copied);
  const auto note_op = [&] {
    if (course == nullptr) return;
    if (!course->begins.empty()) course->held.push_back(model.take_recent_peak());
    course->begins.push_back(model.queue().now() - model.queue().waited());
  };
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
        note_op();
        for (; next < steps.size() && steps[next].op == event.index; ++next)
          outcome.refused += is_done(model, steps[next]) ? 0 : 1;
        run_op(graph, model, event.index);
        break;
    }
  }
  if (course != nullptr && !course->begins.empty()) course->held.push_back(model.take_recent_peak());
  outcome.refused += misplaced_at_end(graph, model, away) + (model.store_room().is_exceeded() ? 1 : 0);
  outcome.peak = model.peak();
  outcome.replays = model.replays();
  outcome.replay_ns = model.replay_ns();
  outcome.copies = model.copies();
  outcome.copy_ns = model.copy_ns();
  outcome.wait_ns = model.queue().waited();
  outcome.work = model.work();
  return outcome;
}

}  // namespace stowage::planner::schedule
