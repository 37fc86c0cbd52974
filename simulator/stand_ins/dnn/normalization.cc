// libcudnn stand-in: batch normalization, one small kernel a pass. The algorithm stood for needs neither
// workspace nor reserve.
#include "simulator/stand_ins/api.h"
#include "simulator/stand_ins/dnn/dnn.h"

using namespace stowage::simulator;

namespace {

constexpr const char* kUser = "a batch normalization";

}  // namespace

SIM_API cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void*, const void*,
    const cudnnTensorDescriptor_t, const void* x, const cudnnTensorDescriptor_t, const void* z,
    const cudnnTensorDescriptor_t, void* y, const cudnnTensorDescriptor_t, const void* scale,
    const void* bias, double, void* running_mean, void* running_variance, double, void* saved_mean,
    void* saved_deviation, cudnnActivationDescriptor_t, void* workspace, size_t, void* reserve, size_t) {
  return run_on(handle, 0, kUser,
                {x, z, y, scale, bias, running_mean, running_variance, saved_mean, saved_deviation, workspace,
                 reserve});
}

SIM_API cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t handle, cudnnBatchNormMode_t, const void*, const void*, const cudnnTensorDescriptor_t,
    const void* x, const cudnnTensorDescriptor_t, void* y, const cudnnTensorDescriptor_t, const void* scale,
    const void* bias, const void* mean, const void* variance, double) {
  return run_on(handle, 0, kUser, {x, y, scale, bias, mean, variance});
}

SIM_API cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void*, const void*, const void*,
    const void*, const cudnnTensorDescriptor_t, const void* x, const cudnnTensorDescriptor_t, const void* y,
    const cudnnTensorDescriptor_t, const void* dy, const cudnnTensorDescriptor_t, void* dz,
    const cudnnTensorDescriptor_t, void* dx, const cudnnTensorDescriptor_t, const void* scale,
    const void* bias, void* dscale, void* dbias, double, const void* saved_mean, const void* saved_deviation,
    cudnnActivationDescriptor_t, void* workspace, size_t, void* reserve, size_t) {
  return run_on(
      handle, 0, kUser,
      {x, y, dy, dz, dx, scale, bias, dscale, dbias, saved_mean, saved_deviation, workspace, reserve});
}

SIM_API cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t, size_t* bytes) {
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnActivationDescriptor_t,
    const cudnnTensorDescriptor_t, size_t* bytes) {
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t,
    size_t* bytes) {
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}
