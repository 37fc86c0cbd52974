// What the cuDNN stand-in keeps behind its opaque descriptors. Thread safety: as cuDNN's, one thread at a
// time.
#pragma once

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <initializer_list>

#include "simulator/device/pointers.h"
#include "simulator/stand_ins/blas/blas.h"

namespace stowage::simulator {

/// A tensor, filter or convolution descriptor; `sizes` are the filter's or the tensor's extents.
struct Shape {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int rank = 0;
  std::array<int, CUDNN_DIM_MAX> sizes{};
  std::array<int, CUDNN_DIM_MAX> strides{};
  int groups = 1;

  std::uint64_t elements() const;
};

/// Bytes of one element; 4 for types that training does not use.
std::uint64_t bytes_of(cudnnDataType_t type);

template <typename Handle>
Shape& shape_of(Handle handle) {
  return *reinterpret_cast<Shape*>(handle);
}

/// Takes the product's time on the handle's stream. `user`, as errors name it, works on `tensors`.
inline cudnnStatus_t run_on(cudnnHandle_t handle, std::uint64_t flops, const char* user,
                            std::initializer_list<const void*> tensors) {
  if (check_pointers(tensors, user) != CUDA_SUCCESS) return CUDNN_STATUS_EXECUTION_FAILED;
  return run_product(handle, flops, user) == 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace stowage::simulator
