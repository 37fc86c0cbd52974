// libcublasLt stand-in: descriptors, the heuristic (one algorithm, no workspace) and the product.
#include <cublasLt.h>

#include <cstring>

#include "simulator/device/pointers.h"
#include "simulator/device/time/costs.h"
#include "simulator/stand_ins/api.h"
#include "simulator/stand_ins/blas/blas.h"

using namespace stowage::simulator;

namespace {

struct Layout {
  std::uint64_t rows;
  std::uint64_t columns;
  std::int32_t batches = 1;
};

const Layout& layout_of(cublasLtMatrixLayout_t handle) { return *reinterpret_cast<const Layout*>(handle); }

}  // namespace

SIM_API size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

SIM_API cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new LibraryHandle);
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete &library(handle);
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t,
                                                cudaDataType_t) {
  *made = reinterpret_cast<cublasLtMatmulDesc_t>(new int(0));
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t,
                                                      const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = reinterpret_cast<cublasLtMatmulPreference_t>(new int(0));
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                            cublasLtMatmulPreferenceAttributes_t, const void*,
                                                            size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType, uint64_t rows,
                                                  uint64_t columns, int64_t) {
  *made = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{rows, columns});
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t handle) {
  delete reinterpret_cast<Layout*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle,
                                                        cublasLtMatrixLayoutAttribute_t attribute,
                                                        const void* value, size_t bytes) {
  auto* const layout = reinterpret_cast<Layout*>(handle);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof layout->batches) {
    std::memcpy(&layout->batches, value, bytes);
  }
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                                      cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                      cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                      cublasLtMatmulPreference_t, int,
                                                      cublasLtMatmulHeuristicResult_t* results, int* count) {
  std::memset(results, 0, sizeof *results);
  results->state = CUBLAS_STATUS_SUCCESS;
  results->wavesCount = 1;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

SIM_API cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void* left,
                                      cublasLtMatrixLayout_t a, const void* right, cublasLtMatrixLayout_t,
                                      const void*, const void* added, cublasLtMatrixLayout_t, void* into,
                                      cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t*, void*, size_t,
                                      cudaStream_t stream) {
  if (check_pointers({left, right, added, into}, "a matrix product") != CUDA_SUCCESS)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  const Layout& result = layout_of(d);
  // Transposed or not, A has m·k entries.
  const std::uint64_t inner =
      layout_of(a).rows * layout_of(a).columns / std::max<std::uint64_t>(result.rows, 1);
  const std::uint64_t flops =
      2 * result.rows * result.columns * inner * static_cast<std::uint64_t>(result.batches);
  const bool launched = launch_on(stream, product_cost(flops), "simulated_gemm_lt") == CUDA_SUCCESS;
  return launched ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
