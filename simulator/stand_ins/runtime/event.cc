// libcudart stand-in: events.
#include "simulator/stand_ins/api.h"

using namespace stowage::simulator;

namespace {

Event* live_event(Machine& machine, cudaEvent_t handle) {
  auto* const event = reinterpret_cast<Event*>(handle);
  return machine.timeline.is_event(event) ? event : nullptr;
}

}  // namespace

SIM_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  SIM_RUNTIME_CALL(cudaEventCreateWithFlags_v3020);
  Call call;
  const bool timed = (flags & cudaEventDisableTiming) == 0;
  *event = reinterpret_cast<cudaEvent_t>(call->timeline.create_event(current_device(), timed));
  return cudaSuccess;
}

SIM_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
  SIM_RUNTIME_CALL(cudaEventCreate_v3020);
  return cudaEventCreateWithFlags(event, 0);
}

SIM_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  SIM_RUNTIME_CALL(cudaEventDestroy_v3020);
  Call call;
  const bool destroyed = call->timeline.destroy_event(reinterpret_cast<Event*>(event));
  return destroyed ? cudaSuccess
                   : answered(misuse(CUDA_ERROR_INVALID_HANDLE, "cudaEventDestroy of a dead event"));
}

SIM_API cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  SIM_RUNTIME_CALL(cudaEventRecord_v3020);
  Call call;
  Stream* const stream = stream_of(*call, stream_handle);
  Event* const event = live_event(*call, handle);
  if (stream == nullptr || event == nullptr) return answered(cudaErrorInvalidResourceHandle);
  if (stream->device != event->device) return answered(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) {
    event->captured = stream->capture;
  } else {
    call->timeline.record(event, stream);
  }
  return cudaSuccess;
}

SIM_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  SIM_RUNTIME_CALL(cudaEventRecordWithFlags_v11010);
  return cudaEventRecord(event, stream);
}

SIM_API cudaError_t cudaEventQuery(cudaEvent_t handle) {
  SIM_RUNTIME_CALL(cudaEventQuery_v3020);
  Call call;
  const Event* const event = live_event(*call, handle);
  if (event == nullptr) return answered(cudaErrorInvalidResourceHandle);
  if (event->captured != nullptr) return answered(cudaErrorCapturedEvent);
  if (const auto wrong = unsafe_in_captures(*call, "cudaEventQuery")) return answered(wrong);
  if (call->timeline.is_complete(event)) return cudaSuccess;
  call->counts.not_ready += 1;
  return answered(cudaErrorNotReady);
}

SIM_API cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  SIM_RUNTIME_CALL(cudaEventSynchronize_v3020);
  Call call;
  const Event* const event = live_event(*call, handle);
  if (event == nullptr) return answered(cudaErrorInvalidResourceHandle);
  if (event->captured != nullptr) return answered(cudaErrorCapturedEvent);
  synchronize(*call, event->recorded ? event->at_ns : 0);
  return cudaSuccess;
}

SIM_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  Call call;
  const Event* const first = live_event(*call, from);
  const Event* const second = live_event(*call, to);
  if (first == nullptr || second == nullptr) return answered(cudaErrorInvalidResourceHandle);
  const bool usable = first->timed && second->timed && first->recorded && second->recorded;
  if (!usable) return answered(cudaErrorInvalidResourceHandle);
  if (!call->timeline.is_complete(first) || !call->timeline.is_complete(second))
    return answered(cudaErrorNotReady);
  *milliseconds = static_cast<float>(static_cast<double>(second->at_ns - first->at_ns) / 1e6);
  return cudaSuccess;
}
