// libcudart stand-in: copies and fills.
#include "simulator/stand_ins/api.h"

using namespace stowage::simulator;

SIM_API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  SIM_RUNTIME_CALL(cudaMemcpy_v3020);
  return answered(copy_on(nullptr, to, from, bytes, true));
}

SIM_API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                                    cudaStream_t stream) {
  SIM_RUNTIME_CALL(cudaMemcpyAsync_v3020);
  return answered(copy_on(stream, to, from, bytes, false));
}

SIM_API cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  SIM_RUNTIME_CALL(cudaMemcpyPeer_v4000);
  return answered(copy_on(nullptr, to, from, bytes, true));
}

SIM_API cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes,
                                        cudaStream_t stream) {
  SIM_RUNTIME_CALL(cudaMemcpyPeerAsync_v4000);
  return answered(copy_on(stream, to, from, bytes, false));
}

namespace {

cudaError_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                      size_t height, cudaStream_t stream, bool blocks) {
  if (width > to_pitch || width > from_pitch) return answered(cudaErrorInvalidPitchValue);
  for (size_t row = 0; row < height; ++row) {
    const auto error = copy_on(stream, static_cast<char*>(to) + row * to_pitch,
                               static_cast<const char*>(from) + row * from_pitch, width, blocks);
    if (error != CUDA_SUCCESS) return answered(error);
  }
  return cudaSuccess;
}

}  // namespace

SIM_API cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                 size_t height, cudaMemcpyKind) {
  SIM_RUNTIME_CALL(cudaMemcpy2D_v3020);
  return copy_rows(to, to_pitch, from, from_pitch, width, height, nullptr, true);
}

SIM_API cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                      size_t width, size_t height, cudaMemcpyKind, cudaStream_t stream) {
  SIM_RUNTIME_CALL(cudaMemcpy2DAsync_v3020);
  return copy_rows(to, to_pitch, from, from_pitch, width, height, stream, false);
}

SIM_API cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  SIM_RUNTIME_CALL(cudaMemset_v3020);
  return answered(fill_on(nullptr, to, static_cast<std::uint32_t>(value), bytes, 1, false));
}

SIM_API cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  SIM_RUNTIME_CALL(cudaMemsetAsync_v3020);
  return answered(fill_on(stream, to, static_cast<std::uint32_t>(value), bytes, 1, false));
}
