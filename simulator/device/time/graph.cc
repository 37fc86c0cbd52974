#include "simulator/device/time/graph.h"

#include <algorithm>

namespace stowage::simulator {

cudaStreamCaptureMode& capture_mode() {
  thread_local cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  return mode;
}

std::shared_ptr<Graph> Captures::begin(Stream* stream, cudaStreamCaptureMode mode) {
  if (stream->capture != nullptr) return nullptr;
  auto graph = std::make_shared<Graph>();
  graph->id = ++last_id_;
  graph->mode = mode;
  graph->thread = std::this_thread::get_id();
  graph->origin = stream;
  stream->capture = graph;
  underway_.push_back(graph);
  return graph;
}

std::shared_ptr<Graph> Captures::end(const Stream* stream, const std::vector<Stream*>& streams) {
  std::shared_ptr<Graph> graph = stream->capture;
  if (graph == nullptr) return nullptr;
  for (Stream* const joined : streams)
    if (joined->capture == graph) joined->capture = nullptr;
  std::erase(underway_, graph);
  return graph;
}

bool Captures::underway(const std::shared_ptr<Graph>& graph) const {
  return std::find(underway_.begin(), underway_.end(), graph) != underway_.end();
}

bool Captures::break_reachable() {
  if (capture_mode() == cudaStreamCaptureModeRelaxed) return false;
  bool broken = false;
  for (const std::shared_ptr<Graph>& graph : underway_) {
    const bool own = graph->thread == std::this_thread::get_id();
    const bool reached = graph->mode == cudaStreamCaptureModeGlobal ||
                         (graph->mode == cudaStreamCaptureModeThreadLocal && own);
    graph->broken |= reached;
    broken |= reached;
  }
  return broken;
}

std::vector<Use>& given() {
  thread_local std::vector<Use> uses;
  return uses;
}

void add_node(Graph& graph, const GraphNode& node) {
  graph.nodes.push_back(node);
  graph.uses.insert(graph.uses.end(), given().begin(), given().end());
  given().clear();
}

}  // namespace stowage::simulator
