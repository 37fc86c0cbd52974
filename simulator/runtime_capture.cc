// libcudart stand-in: stream capture. Nothing is ever captured: begin says "not supported", the status is
// "none".
#include "simulator/api.h"

using namespace stowage::simulator;

SIM_API cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

#if CUDART_VERSION >= 13000
SIM_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus* status,
                                             unsigned long long* id, cudaGraph_t*, const cudaGraphNode_t**,
                                             const cudaGraphEdgeData**, size_t* dependencies) {
  if (dependencies != nullptr) *dependencies = 0;
#else
SIM_API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t, cudaStreamCaptureStatus* status,
                                                unsigned long long* id, cudaGraph_t*, const cudaGraphNode_t**,
                                                size_t* dependencies) {
  if (dependencies != nullptr) *dependencies = 0;
#endif
  *status = cudaStreamCaptureStatusNone;
  if (id != nullptr) *id = 0;
  return cudaSuccess;
}

SIM_API cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return answered(cudaErrorNotSupported);
}

SIM_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  std::swap(current, *mode);
  return cudaSuccess;
}
