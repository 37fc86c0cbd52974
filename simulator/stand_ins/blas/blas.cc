// libcublas stand-in: handles and matrix products, whose cost is their flops. The hundred other routines are
// generated (generate_stubs.py) and cost one small kernel on the handle's stream.
#include "simulator/stand_ins/blas/blas.h"

#include <cublas_v2.h>

#include "simulator/device/pointers.h"
#include "simulator/device/time/costs.h"
#include "simulator/stand_ins/api.h"

namespace stowage::simulator {

int run_product(const void* handle, std::uint64_t flops, const char* name) {
  return launch_on(library(handle).stream, product_cost(flops), name) == CUDA_SUCCESS ? 0 : 1;
}

}  // namespace stowage::simulator

using namespace stowage::simulator;

// Called by the generated routines.
extern "C" int stowage_sim_library_launch(const void* handle, const char* name) {
  note_unseen(name);
  return run_product(handle, 0, name);
}
extern "C" int stowage_sim_product(const void* handle, int m, int n, int k, const void* a, const void* b,
                                   const void* c) {
  if (check_pointers({a, b, c}, "a matrix product") != CUDA_SUCCESS) return CUBLAS_STATUS_EXECUTION_FAILED;
  return run_product(handle, product_flops(m, n, k), "simulated_gemm");
}

SIM_API cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(new LibraryHandle);
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete &library(handle);
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  library(handle).stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }

SIM_API cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  library(handle).math_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = static_cast<cublasMath_t>(library(handle).math_mode);
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  library(handle).pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = static_cast<cublasPointerMode_t>(library(handle).pointer_mode);
  return CUBLAS_STATUS_SUCCESS;
}

namespace {

cublasStatus_t strided(cublasHandle_t handle, int m, int n, int k, int batches,
                       std::initializer_list<const void*> matrices) {
  if (check_pointers(matrices, "a matrix product") != CUDA_SUCCESS) return CUBLAS_STATUS_EXECUTION_FAILED;
  return static_cast<cublasStatus_t>(
      run_product(handle, product_flops(m, n, k, batches), "simulated_gemm_strided_batched"));
}

}  // namespace

SIM_API cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t, cublasOperation_t,
                                                 int m, int n, int k, const float*, const float* a, int,
                                                 long long, const float* b, int, long long, const float*,
                                                 float* c, int, long long, int batches) {
  return strided(handle, m, n, k, batches, {a, b, c});
}

SIM_API cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t, cublasOperation_t,
                                                 int m, int n, int k, const double*, const double* a, int,
                                                 long long, const double* b, int, long long, const double*,
                                                 double* c, int, long long, int batches) {
  return strided(handle, m, n, k, batches, {a, b, c});
}

SIM_API cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t,
                                                  int m, int n, int k, const void*, const void* a,
                                                  cudaDataType, int, long long, const void* b, cudaDataType,
                                                  int, long long, const void*, void* c, cudaDataType, int,
                                                  long long, int batches, cublasComputeType_t,
                                                  cublasGemmAlgo_t) {
  return strided(handle, m, n, k, batches, {a, b, c});
}
