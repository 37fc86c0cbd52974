// libcudnn stand-in, legacy interface: handles and descriptors.
#include "simulator/stand_ins/dnn/dnn.h"

#include <algorithm>

#include "simulator/stand_ins/api.h"

namespace stowage::simulator {

std::uint64_t Shape::elements() const {
  std::uint64_t product = rank == 0 ? 0 : 1;
  for (int at = 0; at < rank; ++at)
    product *= static_cast<std::uint64_t>(sizes[static_cast<std::size_t>(at)]);
  return product;
}

std::uint64_t bytes_of(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
      return 8;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    default:
      return 4;
  }
}

namespace {

template <typename Handle>
cudnnStatus_t create_shape(Handle* made) {
  *made = reinterpret_cast<Handle>(new Shape);
  return CUDNN_STATUS_SUCCESS;
}

template <typename Handle>
cudnnStatus_t destroy_shape(Handle handle) {
  delete reinterpret_cast<Shape*>(handle);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_sizes(Shape& shape, cudnnDataType_t type, int rank, const int* sizes, const int* strides) {
  if (rank < 0 || rank > CUDNN_DIM_MAX) return CUDNN_STATUS_BAD_PARAM;
  shape.type = type;
  shape.rank = rank;
  std::copy_n(sizes, rank, shape.sizes.begin());
  if (strides != nullptr) std::copy_n(strides, rank, shape.strides.begin());
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t get_sizes(const Shape& shape, int wanted, cudnnDataType_t* type, int* rank, int* sizes,
                        int* strides) {
  *type = shape.type;
  *rank = shape.rank;
  const int count = std::min(wanted, shape.rank);
  std::copy_n(shape.sizes.begin(), count, sizes);
  if (strides != nullptr) std::copy_n(shape.strides.begin(), count, strides);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace stowage::simulator

using namespace stowage::simulator;

SIM_API size_t cudnnGetVersion() { return CUDNN_VERSION; }

SIM_API cudnnStatus_t cudnnGetProperty(libraryPropertyType property, int* value) {
  *value = property == MAJOR_VERSION   ? CUDNN_MAJOR
           : property == MINOR_VERSION ? CUDNN_MINOR
                                       : CUDNN_PATCHLEVEL;
  return CUDNN_STATUS_SUCCESS;
}

SIM_API size_t cudnnGetCudartVersion() { return CUDART_VERSION; }
SIM_API const char* cudnnGetErrorString(cudnnStatus_t) { return "refused by the simulated cuDNN"; }
SIM_API void cudnnGetLastErrorString(char* message, size_t bytes) {
  if (bytes > 0) *message = '\0';
}

SIM_API cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new LibraryHandle);
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete &library(handle);
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  library(handle).stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = static_cast<cudaStream_t>(const_cast<void*>(library(handle).stream));
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) {
  return create_shape(made);
}
SIM_API cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t handle) {
  return destroy_shape(handle);
}
SIM_API cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* made) {
  return create_shape(made);
}
SIM_API cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t handle) {
  return destroy_shape(handle);
}
SIM_API cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* made) {
  return create_shape(made);
}
SIM_API cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t handle) {
  return destroy_shape(handle);
}
SIM_API cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* made) {
  return create_shape(made);
}
SIM_API cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t handle) {
  return destroy_shape(handle);
}

SIM_API cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t handle, cudnnDataType_t type,
                                                 int rank, const int* sizes, const int* strides) {
  return set_sizes(shape_of(handle), type, rank, sizes, strides);
}

SIM_API cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t handle, int wanted,
                                                 cudnnDataType_t* type, int* rank, int* sizes, int* strides) {
  return get_sizes(shape_of(handle), wanted, type, rank, sizes, strides);
}

SIM_API cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t handle, cudnnDataType_t type,
                                                 cudnnTensorFormat_t, int rank, const int* sizes) {
  return set_sizes(shape_of(handle), type, rank, sizes, nullptr);
}

SIM_API cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t handle, int wanted,
                                                 cudnnDataType_t* type, cudnnTensorFormat_t* format,
                                                 int* rank, int* sizes) {
  *format = CUDNN_TENSOR_NCHW;
  return get_sizes(shape_of(handle), wanted, type, rank, sizes, nullptr);
}

SIM_API cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t, int, const int*,
                                                      const int*, const int*, cudnnConvolutionMode_t,
                                                      cudnnDataType_t) {
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t handle, int groups) {
  shape_of(handle).groups = groups;
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t, cudnnMathType_t) {
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t, cudnnActivationMode_t,
                                                   cudnnNanPropagation_t, double) {
  return CUDNN_STATUS_SUCCESS;
}
