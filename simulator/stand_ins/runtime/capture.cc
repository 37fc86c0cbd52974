// libcudart stand-in: stream capture and graphs (graph.h).
#include "simulator/device/pointers.h"
#include "simulator/stand_ins/api.h"

using namespace stowage::simulator;

namespace {

using Held = std::shared_ptr<Graph>;  // what cudaGraph_t and cudaGraphExec_t point to

template <typename Handle>
const Graph& graph_of(Handle handle) {
  return **reinterpret_cast<const Held*>(handle);
}

cudaStreamCaptureStatus status_of(const Stream* stream) {
  if (stream == nullptr || stream->capture == nullptr) return cudaStreamCaptureStatusNone;
  return stream->capture->broken ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

cudaError_t capture_info(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                         size_t* dependencies) {
  Call call;
  const Stream* const stream = stream_of(*call, handle);
  *status = status_of(stream);
  if (id != nullptr) *id = *status == cudaStreamCaptureStatusNone ? 0 : stream->capture->id;
  if (dependencies != nullptr) *dependencies = 0;
  return cudaSuccess;
}

}  // namespace

SIM_API cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  SIM_RUNTIME_CALL(cudaStreamIsCapturing_v10000);
  return capture_info(handle, status, nullptr, nullptr);
}

#if CUDART_VERSION >= 13000
SIM_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                             unsigned long long* id, cudaGraph_t*, const cudaGraphNode_t**,
                                             const cudaGraphEdgeData**, size_t* dependencies) {
#else
SIM_API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                                unsigned long long* id, cudaGraph_t*, const cudaGraphNode_t**,
                                                size_t* dependencies) {
#endif
  return capture_info(handle, status, id, dependencies);
}

SIM_API cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  SIM_RUNTIME_CALL(cudaStreamBeginCapture_v10000);
  Call call;
  Stream* const stream = stream_of(*call, handle);
  if (stream == nullptr) return answered(cudaErrorInvalidResourceHandle);
  if (stream == call->timeline.legacy_stream(stream->device))
    return answered(cudaErrorStreamCaptureUnsupported);
  return answered(call->captures.begin(stream, mode) ? cudaSuccess : cudaErrorIllegalState);
}

SIM_API cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* made) {
  SIM_RUNTIME_CALL(cudaStreamEndCapture_v10000);
  Call call;
  const Stream* const stream = stream_of(*call, handle);
  *made = nullptr;
  if (stream == nullptr) return answered(cudaErrorInvalidResourceHandle);
  const Held graph = call->captures.end(stream, call->timeline.streams(stream->device));
  if (graph == nullptr) return answered(cudaErrorIllegalState);
  if (graph->broken) return answered(cudaErrorStreamCaptureInvalidated);
  *made = reinterpret_cast<cudaGraph_t>(new Held(graph));
  return cudaSuccess;
}

SIM_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(capture_mode(), *mode);
  return cudaSuccess;
}

SIM_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  *count = graph_of(graph).nodes.size();
  return cudaSuccess;
}

SIM_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* made, cudaGraph_t graph,
                                                  unsigned long long) {
  SIM_RUNTIME_CALL(cudaGraphInstantiateWithFlags_v11040);
  *made = reinterpret_cast<cudaGraphExec_t>(new Held(*reinterpret_cast<const Held*>(graph)));
  return cudaSuccess;
}

SIM_API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Held*>(graph);
  return cudaSuccess;
}

SIM_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete reinterpret_cast<Held*>(graph);
  return cudaSuccess;
}

SIM_API cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream) {
  SIM_RUNTIME_CALL(cudaGraphLaunch_v10000);
  const Graph& graph = graph_of(handle);
  for (const Use& use : graph.uses)
    if (const auto wrong = check_pointer(use.pointer, use.user)) return answered(wrong);
  return answered(launch_graph_on(stream, graph));
}
