// libcudnn stand-in: convolutions. One algorithm for each direction, which asks for a workspace of a fixed
// size (16 MiB, STOWAGE_SIM_DNN_WORKSPACE): real workspaces vary by algorithm, and this one makes peaks agree
// with measured ones to a few percent (docs/results/simulator.md).
#include <cstring>

#include "simulator/stand_ins/api.h"
#include "simulator/stand_ins/dnn/dnn.h"

using namespace stowage::simulator;

namespace {

std::uint64_t workspace_bytes() { return settings().dnn_workspace_bytes; }

/// Multiplications and additions of a convolution: each output element takes one filter's worth.
std::uint64_t convolution_flops(const Shape& filter, const Shape& output) {
  const std::uint64_t filters = static_cast<std::uint64_t>(std::max(filter.sizes[0], 1));
  return 2 * output.elements() * (filter.elements() / filters);
}

template <typename Performance, typename Algorithm>
cudnnStatus_t propose(int* count, Performance* results, Algorithm algorithm) {
  std::memset(results, 0, sizeof *results);
  results->algo = algorithm;
  results->status = CUDNN_STATUS_SUCCESS;
  results->time = 1.0F;
  results->memory = workspace_bytes();
  results->determinism = CUDNN_DETERMINISTIC;
  results->mathType = CUDNN_DEFAULT_MATH;
  *count = 1;
  return CUDNN_STATUS_SUCCESS;
}

constexpr auto kForward = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
constexpr auto kBackwardData = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
constexpr auto kBackwardFilter = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;

}  // namespace

SIM_API cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                             const cudnnFilterDescriptor_t,
                                                             const cudnnConvolutionDescriptor_t,
                                                             const cudnnTensorDescriptor_t, const int,
                                                             int* count,
                                                             cudnnConvolutionFwdAlgoPerf_t* results) {
  return propose(count, results, kForward);
}

SIM_API cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, const cudnnFilterDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, const int, int* count,
    cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return propose(count, results, kBackwardData);
}

SIM_API cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t, const int, int* count,
    cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return propose(count, results, kBackwardFilter);
}

// torch.backends.cudnn.benchmark: "measuring" finds the same algorithm.
SIM_API cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const void*, const cudnnFilterDescriptor_t, const void*,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, void*, const int, int* count,
    cudnnConvolutionFwdAlgoPerf_t* results, void*, size_t) {
  return propose(count, results, kForward);
}

SIM_API cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t, const cudnnFilterDescriptor_t, const void*, const cudnnTensorDescriptor_t, const void*,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, void*, const int, int* count,
    cudnnConvolutionBwdDataAlgoPerf_t* results, void*, size_t) {
  return propose(count, results, kBackwardData);
}

SIM_API cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t, const void*,
    const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t, void*, const int, int* count,
    cudnnConvolutionBwdFilterAlgoPerf_t* results, void*, size_t) {
  return propose(count, results, kBackwardFilter);
}

SIM_API cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                              const cudnnFilterDescriptor_t,
                                                              const cudnnConvolutionDescriptor_t,
                                                              const cudnnTensorDescriptor_t,
                                                              cudnnConvolutionFwdAlgo_t, size_t* bytes) {
  *bytes = workspace_bytes();
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, const cudnnFilterDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, cudnnConvolutionBwdDataAlgo_t,
    size_t* bytes) {
  *bytes = workspace_bytes();
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t, cudnnConvolutionBwdFilterAlgo_t,
    size_t* bytes) {
  *bytes = workspace_bytes();
  return CUDNN_STATUS_SUCCESS;
}

namespace {

cudnnStatus_t convolve(cudnnHandle_t handle, cudnnFilterDescriptor_t filter, cudnnTensorDescriptor_t output,
                       std::initializer_list<const void*> tensors) {
  return run_on(handle, convolution_flops(shape_of(filter), shape_of(output)), "a convolution", tensors);
}

}  // namespace

SIM_API cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void*,
                                              const cudnnTensorDescriptor_t, const void* input,
                                              const cudnnFilterDescriptor_t filter, const void* weights,
                                              const cudnnConvolutionDescriptor_t, cudnnConvolutionFwdAlgo_t,
                                              void* workspace, size_t, const void*,
                                              const cudnnTensorDescriptor_t output, void* result) {
  return convolve(handle, filter, output, {input, weights, workspace, result});
}

SIM_API cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void*,
                                                   const cudnnFilterDescriptor_t filter, const void* weights,
                                                   const cudnnTensorDescriptor_t output_gradient,
                                                   const void* gradient, const cudnnConvolutionDescriptor_t,
                                                   cudnnConvolutionBwdDataAlgo_t, void* workspace, size_t,
                                                   const void*, const cudnnTensorDescriptor_t, void* result) {
  return convolve(handle, filter, output_gradient, {weights, gradient, workspace, result});
}

SIM_API cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void*,
                                                     const cudnnTensorDescriptor_t, const void* input,
                                                     const cudnnTensorDescriptor_t output_gradient,
                                                     const void* gradient, const cudnnConvolutionDescriptor_t,
                                                     cudnnConvolutionBwdFilterAlgo_t, void* workspace, size_t,
                                                     const void*, const cudnnFilterDescriptor_t filter,
                                                     void* result) {
  return convolve(handle, filter, output_gradient, {input, gradient, workspace, result});
}
