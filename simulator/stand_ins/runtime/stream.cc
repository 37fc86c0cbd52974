// libcudart stand-in: streams.
#include "simulator/stand_ins/api.h"

using namespace stowage::simulator;

namespace {

constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -5;

cudaStream_t handle_of(Stream* stream) { return reinterpret_cast<cudaStream_t>(stream); }

}  // namespace

SIM_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  SIM_RUNTIME_CALL(cudaStreamCreateWithPriority_v5050);
  Call call;
  const bool blocking = (flags & cudaStreamNonBlocking) == 0;
  const int clamped = std::clamp(priority, kGreatestPriority, kLeastPriority);
  *stream = handle_of(call->timeline.create_stream(current_device(), blocking, clamped));
  return cudaSuccess;
}

SIM_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  SIM_RUNTIME_CALL(cudaStreamCreateWithFlags_v5000);
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

SIM_API cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  SIM_RUNTIME_CALL(cudaStreamCreate_v3020);
  return cudaStreamCreateWithPriority(stream, 0, 0);
}

SIM_API cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  SIM_RUNTIME_CALL(cudaStreamDestroy_v5050);
  Call call;
  auto* const stream = reinterpret_cast<Stream*>(handle);
  if (call->timeline.is_stream(stream) && stream->capture != nullptr && stream->capture->origin == stream)
    call->captures.end(stream, call->timeline.streams(stream->device));
  const bool destroyed = call->timeline.destroy_stream(stream);
  return destroyed ? cudaSuccess
                   : answered(misuse(CUDA_ERROR_INVALID_HANDLE, "cudaStreamDestroy of a dead stream"));
}

SIM_API cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  SIM_RUNTIME_CALL(cudaStreamSynchronize_v3020);
  Call call;
  const Stream* const stream = stream_of(*call, handle);
  if (stream == nullptr) return answered(cudaErrorInvalidResourceHandle);
  if (const auto wrong = unsafe_on_stream(stream, "cudaStreamSynchronize")) return answered(wrong);
  synchronize(*call, call->timeline.done_ns(stream), stream);
  return cudaSuccess;
}

SIM_API cudaError_t cudaStreamQuery(cudaStream_t handle) {
  SIM_RUNTIME_CALL(cudaStreamQuery_v3020);
  Call call;
  const Stream* const stream = stream_of(*call, handle);
  if (stream == nullptr) return answered(cudaErrorInvalidResourceHandle);
  if (const auto wrong = unsafe_on_stream(stream, "cudaStreamQuery")) return answered(wrong);
  if (call->timeline.done_ns(stream) <= call->timeline.host_ns()) return cudaSuccess;
  call->counts.not_ready += 1;
  return answered(cudaErrorNotReady);
}

SIM_API cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  SIM_RUNTIME_CALL(cudaStreamWaitEvent_v3020);
  Call call;
  Stream* const stream = stream_of(*call, handle);
  const auto* const waited = reinterpret_cast<const Event*>(event);
  if (stream == nullptr || !call->timeline.is_event(waited)) return answered(cudaErrorInvalidResourceHandle);
  if (call->captures.underway(waited->captured)) {
    stream->capture = waited->captured;
  } else {
    call->timeline.hold(stream, waited);
  }
  return cudaSuccess;
}

SIM_API cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  Call call;
  const Stream* const stream = stream_of(*call, handle);
  if (stream == nullptr) return answered(cudaErrorInvalidResourceHandle);
  *priority = stream->priority;
  return cudaSuccess;
}

SIM_API cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  Call call;
  const Stream* const stream = stream_of(*call, handle);
  if (stream == nullptr) return answered(cudaErrorInvalidResourceHandle);
  *flags = stream->blocking ? cudaStreamDefault : cudaStreamNonBlocking;
  return cudaSuccess;
}

SIM_API cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  Call call;
  const Stream* const stream = stream_of(*call, handle);
  if (stream == nullptr) return answered(cudaErrorInvalidResourceHandle);
  *id = stream->id;
  return cudaSuccess;
}

SIM_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = kLeastPriority;
  *greatest = kGreatestPriority;
  return cudaSuccess;
}

// Host functions run at once, in the order of the calls: earlier work has nothing left to compute, only time
// to pass, and the host's clock does not wait for that.
SIM_API cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* argument) {
  {
    Call call;
    Stream* const stream = stream_of(*call, handle);
    if (stream == nullptr) return answered(cudaErrorInvalidResourceHandle);
    if (stream->capture != nullptr) return answered(cudaErrorNotSupported);
    call->timeline.enqueue(stream, 0);
  }
  function(argument);
  return cudaSuccess;
}

SIM_API cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t function, void* argument,
                                          unsigned) {
  {
    Call call;
    Stream* const stream = stream_of(*call, handle);
    if (stream == nullptr) return answered(cudaErrorInvalidResourceHandle);
    if (stream->capture != nullptr) return answered(cudaErrorNotSupported);
    call->timeline.enqueue(stream, 0);
  }
  function(handle, cudaSuccess, argument);
  return cudaSuccess;
}
