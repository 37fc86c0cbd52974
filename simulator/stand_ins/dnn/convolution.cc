// libcudnn stand-in: convolutions. Two algorithms for each direction. The fast one asks for a workspace of a
// fixed size (16 MiB, STOWAGE_SIM_DNN_WORKSPACE): real workspaces vary by algorithm, and this one makes peaks
// agree with measured ones to a few percent (docs/results/simulator.md). The other needs none and is taken
// for twice as slow: PyTorch falls back on such a one where the workspace does not fit.
#include <cstring>
#include <limits>

#include "simulator/stand_ins/api.h"
#include "simulator/stand_ins/dnn/dnn.h"

using namespace stowage::simulator;

namespace {

constexpr std::uint64_t kFrugalTime = 2;  ///< of a frugal algorithm, as a multiple of the fast one's

std::uint64_t workspace_bytes() { return settings().dnn_workspace_bytes; }

/// Multiplications and additions of a convolution: each output element takes one filter's worth.
std::uint64_t convolution_flops(const Shape& filter, const Shape& output) {
  const std::uint64_t filters = static_cast<std::uint64_t>(std::max(filter.sizes[0], 1));
  return 2 * output.elements() * (filter.elements() / filters);
}

template <typename Algorithm>
struct Choice {
  Algorithm fast;
  Algorithm frugal;  ///< without a workspace
};

/// The fastest first, of those that do with `available` bytes.
template <typename Performance, typename Algorithm>
cudnnStatus_t propose(int wanted, int* count, Performance* results, const Choice<Algorithm>& choice,
                      std::size_t available = std::numeric_limits<std::size_t>::max()) {
  *count = 0;
  const auto add = [&](Algorithm algorithm, std::size_t memory, float time) {
    if (*count >= wanted || memory > available) return;
    Performance& result = results[(*count)++];
    std::memset(&result, 0, sizeof result);
    result.algo = algorithm;
    result.status = CUDNN_STATUS_SUCCESS;
    result.time = time;
    result.memory = memory;
    result.determinism = CUDNN_DETERMINISTIC;
    result.mathType = CUDNN_DEFAULT_MATH;
  };
  add(choice.fast, workspace_bytes(), 1.0F);
  add(choice.frugal, 0, static_cast<float>(kFrugalTime));
  return CUDNN_STATUS_SUCCESS;
}

constexpr Choice kForward{CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                          CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM};
constexpr Choice kBackwardData{CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0};
constexpr Choice kBackwardFilter{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0};

template <typename Algorithm>
std::size_t workspace_of(const Choice<Algorithm>& choice, Algorithm algorithm) {
  return algorithm == choice.fast ? workspace_bytes() : 0;
}

}  // namespace

SIM_API cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                             const cudnnFilterDescriptor_t,
                                                             const cudnnConvolutionDescriptor_t,
                                                             const cudnnTensorDescriptor_t, const int wanted,
                                                             int* count,
                                                             cudnnConvolutionFwdAlgoPerf_t* results) {
  return propose(wanted, count, results, kForward);
}

SIM_API cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, const cudnnFilterDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, const int wanted, int* count,
    cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return propose(wanted, count, results, kBackwardData);
}

SIM_API cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t, const int wanted, int* count,
    cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return propose(wanted, count, results, kBackwardFilter);
}

// torch.backends.cudnn.benchmark: "measuring" finds the same algorithms, but for what has no room to run in.
SIM_API cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const void*, const cudnnFilterDescriptor_t, const void*,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, void*, const int wanted, int* count,
    cudnnConvolutionFwdAlgoPerf_t* results, void*, size_t available) {
  return propose(wanted, count, results, kForward, available);
}

SIM_API cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t, const cudnnFilterDescriptor_t, const void*, const cudnnTensorDescriptor_t, const void*,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, void*, const int wanted, int* count,
    cudnnConvolutionBwdDataAlgoPerf_t* results, void*, size_t available) {
  return propose(wanted, count, results, kBackwardData, available);
}

SIM_API cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t, const void*,
    const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t, void*, const int wanted, int* count,
    cudnnConvolutionBwdFilterAlgoPerf_t* results, void*, size_t available) {
  return propose(wanted, count, results, kBackwardFilter, available);
}

SIM_API cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                              const cudnnFilterDescriptor_t,
                                                              const cudnnConvolutionDescriptor_t,
                                                              const cudnnTensorDescriptor_t,
                                                              cudnnConvolutionFwdAlgo_t algorithm,
                                                              size_t* bytes) {
  *bytes = workspace_of(kForward, algorithm);
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, const cudnnFilterDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t,
    cudnnConvolutionBwdDataAlgo_t algorithm, size_t* bytes) {
  *bytes = workspace_of(kBackwardData, algorithm);
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t,
    cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes) {
  *bytes = workspace_of(kBackwardFilter, algorithm);
  return CUDNN_STATUS_SUCCESS;
}

namespace {

cudnnStatus_t convolve(cudnnHandle_t handle, cudnnFilterDescriptor_t filter, cudnnTensorDescriptor_t output,
                       bool fast, std::initializer_list<const void*> tensors) {
  const std::uint64_t flops = convolution_flops(shape_of(filter), shape_of(output));
  return run_on(handle, fast ? flops : kFrugalTime * flops, "a convolution", tensors);
}

}  // namespace

SIM_API cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void*,
                                              const cudnnTensorDescriptor_t, const void* input,
                                              const cudnnFilterDescriptor_t filter, const void* weights,
                                              const cudnnConvolutionDescriptor_t,
                                              cudnnConvolutionFwdAlgo_t algorithm, void* workspace, size_t,
                                              const void*, const cudnnTensorDescriptor_t output,
                                              void* result) {
  return convolve(handle, filter, output, algorithm == kForward.fast, {input, weights, workspace, result});
}

SIM_API cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void*,
                                                   const cudnnFilterDescriptor_t filter, const void* weights,
                                                   const cudnnTensorDescriptor_t output_gradient,
                                                   const void* gradient, const cudnnConvolutionDescriptor_t,
                                                   cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                                   size_t, const void*, const cudnnTensorDescriptor_t,
                                                   void* result) {
  return convolve(handle, filter, output_gradient, algorithm == kBackwardData.fast,
                  {weights, gradient, workspace, result});
}

SIM_API cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void*,
                                                     const cudnnTensorDescriptor_t, const void* input,
                                                     const cudnnTensorDescriptor_t output_gradient,
                                                     const void* gradient, const cudnnConvolutionDescriptor_t,
                                                     cudnnConvolutionBwdFilterAlgo_t algorithm,
                                                     void* workspace, size_t, const void*,
                                                     const cudnnFilterDescriptor_t filter, void* result) {
  return convolve(handle, filter, output_gradient, algorithm == kBackwardFilter.fast,
                  {input, gradient, workspace, result});
}
