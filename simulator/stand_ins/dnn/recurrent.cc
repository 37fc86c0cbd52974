// libcudnn stand-in: recurrent layers (RNN, LSTM, GRU) and their dropout state.
//
// Weights lie in one buffer: for each pseudo-layer (layer and direction) the input matrices of all gates,
// then the recurrent ones, then an LSTM's projection; behind all matrices, the biases in the same order.
// Workspace and reserve are plausible sizes (gates and cell states of every step), not measured ones.
#include "simulator/stand_ins/api.h"
#include "simulator/stand_ins/dnn/dnn.h"

using namespace stowage::simulator;

namespace {

struct Recurrent {
  cudnnRNNMode_t mode = CUDNN_LSTM;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int input = 0;
  int hidden = 0;
  int projection = 0;  // = hidden when there is none
  int layers = 0;
  int directions = 1;
  bool biased = true;

  int gates() const { return mode == CUDNN_LSTM ? 4 : mode == CUDNN_GRU ? 3 : 1; }
  int pseudo_layers() const { return layers * directions; }
  bool projects() const { return mode == CUDNN_LSTM && projection != hidden; }
  std::uint64_t input_of(int pseudo_layer) const {
    return static_cast<std::uint64_t>(pseudo_layer < directions ? input : projection * directions);
  }
};

struct RecurrentData {
  int steps = 0;
  int batch = 0;
};

Recurrent& recurrent(cudnnRNNDescriptor_t handle) { return *reinterpret_cast<Recurrent*>(handle); }
RecurrentData& data_of(cudnnRNNDataDescriptor_t handle) { return *reinterpret_cast<RecurrentData*>(handle); }

struct Matrix {
  std::uint64_t rows;
  std::uint64_t columns;
};

/// The matrix `index` of a pseudo-layer: gates of the input, gates of the state, projection.
Matrix matrix_of(const Recurrent& net, int pseudo_layer, int index) {
  const auto hidden = static_cast<std::uint64_t>(net.hidden);
  const auto projection = static_cast<std::uint64_t>(net.projection);
  if (index < net.gates()) return {hidden, net.input_of(pseudo_layer)};
  if (index < 2 * net.gates()) return {hidden, projection};
  return {projection, hidden};
}

int matrices_in_layer(const Recurrent& net) { return 2 * net.gates() + (net.projects() ? 1 : 0); }

/// Elements before matrix `index` of `pseudo_layer`; the matrices' total when pseudo_layer is the number of
/// them.
std::uint64_t elements_before(const Recurrent& net, int pseudo_layer, int index) {
  std::uint64_t sum = 0;
  for (int layer = 0; layer <= pseudo_layer; ++layer) {
    const int end = layer == pseudo_layer ? index : matrices_in_layer(net);
    for (int at = 0; at < end; ++at) {
      const Matrix matrix = matrix_of(net, layer, at);
      sum += matrix.rows * matrix.columns;
    }
  }
  return sum;
}

std::uint64_t biases(const Recurrent& net) {
  if (!net.biased) return 0;
  return static_cast<std::uint64_t>(net.pseudo_layers()) *
         static_cast<std::uint64_t>(2 * net.gates() * net.hidden);
}

/// Elements before the bias of gate `index`: all matrices, then the biases of what comes earlier.
std::uint64_t bias_before(const Recurrent& net, int pseudo_layer, int index) {
  const auto earlier = static_cast<std::uint64_t>(pseudo_layer * 2 * net.gates() + index);
  return elements_before(net, net.pseudo_layers(), 0) + earlier * static_cast<std::uint64_t>(net.hidden);
}

void describe_matrix(cudnnTensorDescriptor_t handle, cudnnDataType_t type, Matrix matrix) {
  Shape& shape = shape_of(handle);
  shape.type = type;
  shape.rank = 3;
  shape.sizes = {1, static_cast<int>(matrix.rows), static_cast<int>(matrix.columns)};
  shape.strides = {static_cast<int>(matrix.rows * matrix.columns), static_cast<int>(matrix.columns), 1};
}

std::uint64_t step_flops(const Recurrent& net) { return 2 * elements_before(net, net.pseudo_layers(), 0); }

cudnnStatus_t run_steps(cudnnHandle_t handle, cudnnRNNDescriptor_t net, cudnnRNNDataDescriptor_t data,
                        std::initializer_list<const void*> tensors) {
  const auto cells =
      static_cast<std::uint64_t>(data_of(data).steps) * static_cast<std::uint64_t>(data_of(data).batch);
  return run_on(handle, step_flops(recurrent(net)) * cells, "a recurrent pass", tensors);
}

}  // namespace

SIM_API cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* made) {
  *made = reinterpret_cast<cudnnRNNDescriptor_t>(new Recurrent);
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t handle) {
  delete &recurrent(handle);
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* made) {
  *made = reinterpret_cast<cudnnRNNDataDescriptor_t>(new RecurrentData);
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t handle) {
  delete &data_of(handle);
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t handle, cudnnRNNAlgo_t,
                                               cudnnRNNMode_t mode, cudnnRNNBiasMode_t bias,
                                               cudnnDirectionMode_t direction, cudnnRNNInputMode_t,
                                               cudnnDataType_t type, cudnnDataType_t, cudnnMathType_t,
                                               int32_t input, int32_t hidden, int32_t projection,
                                               int32_t layers, cudnnDropoutDescriptor_t, uint32_t) {
  recurrent(handle) = {mode,
                       type,
                       input,
                       hidden,
                       projection,
                       layers,
                       direction == CUDNN_BIDIRECTIONAL ? 2 : 1,
                       bias != CUDNN_RNN_NO_BIAS};
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t handle, cudnnDataType_t,
                                                cudnnRNNDataLayout_t, int steps, int batch, int, const int[],
                                                void*) {
  data_of(handle) = {steps, batch};
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t handle, size_t* bytes) {
  const Recurrent& net = recurrent(handle);
  *bytes = (elements_before(net, net.pseudo_layers(), 0) + biases(net)) * bytes_of(net.type);
  return CUDNN_STATUS_SUCCESS;
}

// Either half of the answer may go unasked: its address and shape are null then.
SIM_API cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t handle,
                                              int32_t pseudo_layer, size_t, const void* weights,
                                              int32_t index, cudnnTensorDescriptor_t matrix_shape,
                                              void** matrix, cudnnTensorDescriptor_t bias_shape,
                                              void** bias) {
  const Recurrent& net = recurrent(handle);
  if (pseudo_layer >= net.pseudo_layers()) return CUDNN_STATUS_BAD_PARAM;
  char* const base = static_cast<char*>(const_cast<void*>(weights));
  if (matrix != nullptr) {
    const bool exists = index < matrices_in_layer(net);
    *matrix = exists ? base + elements_before(net, pseudo_layer, index) * bytes_of(net.type) : nullptr;
    if (exists) describe_matrix(matrix_shape, net.type, matrix_of(net, pseudo_layer, index));
  }
  if (bias != nullptr) {
    const bool exists = net.biased && index < 2 * net.gates();
    *bias = exists ? base + bias_before(net, pseudo_layer, index) * bytes_of(net.type) : nullptr;
    if (exists) describe_matrix(bias_shape, net.type, {static_cast<std::uint64_t>(net.hidden), 1});
  }
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t handle,
                                                cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t data,
                                                size_t* workspace, size_t* reserve) {
  const Recurrent& net = recurrent(handle);
  const auto cells =
      static_cast<std::uint64_t>(data_of(data).steps) * static_cast<std::uint64_t>(data_of(data).batch);
  const std::uint64_t state =
      cells * static_cast<std::uint64_t>(net.hidden * net.directions) * bytes_of(net.type);
  *workspace = state * static_cast<std::uint64_t>(net.gates());
  const bool trains = mode == CUDNN_FWD_MODE_TRAINING;
  if (reserve != nullptr)
    *reserve = trains ? state * static_cast<std::uint64_t>(net.layers * (net.gates() + 2)) : 0;
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t net, cudnnForwardMode_t,
                                      const int32_t lengths[], cudnnRNNDataDescriptor_t data, const void* x,
                                      cudnnRNNDataDescriptor_t, void* y, cudnnTensorDescriptor_t,
                                      const void* hx, void* hy, cudnnTensorDescriptor_t, const void* cx,
                                      void* cy, size_t, const void* weights, size_t, void* workspace, size_t,
                                      void* reserve) {
  return run_steps(handle, net, data, {lengths, x, y, hx, hy, cx, cy, weights, workspace, reserve});
}

SIM_API cudnnStatus_t cudnnRNNBackwardData_v8(
    cudnnHandle_t handle, cudnnRNNDescriptor_t net, const int32_t lengths[], cudnnRNNDataDescriptor_t data,
    const void* y, const void* dy, cudnnRNNDataDescriptor_t, void* dx, cudnnTensorDescriptor_t,
    const void* hx, const void* dhy, void* dhx, cudnnTensorDescriptor_t, const void* cx, const void* dcy,
    void* dcx, size_t, const void* weights, size_t, void* workspace, size_t, void* reserve) {
  return run_steps(handle, net, data,
                   {lengths, y, dy, dx, hx, dhy, dhx, cx, dcy, dcx, weights, workspace, reserve});
}

SIM_API cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t net,
                                                 cudnnWgradMode_t, const int32_t lengths[],
                                                 cudnnRNNDataDescriptor_t data, const void* x,
                                                 cudnnTensorDescriptor_t, const void* hx,
                                                 cudnnRNNDataDescriptor_t, const void* y, size_t,
                                                 void* dweights, size_t, void* workspace, size_t,
                                                 void* reserve) {
  return run_steps(handle, net, data, {lengths, x, hx, y, dweights, workspace, reserve});
}

// The descriptor holds nothing: dropout inside the layers is part of kernels that do nothing.
SIM_API cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* made) {
  *made = reinterpret_cast<cudnnDropoutDescriptor_t>(new int(0));
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t, size_t* bytes) {
  constexpr size_t kStateBytesPerThread = 24;
  *bytes = kStateBytesPerThread * 132 * 2048;
  return CUDNN_STATUS_SUCCESS;
}

SIM_API cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t, cudnnHandle_t handle, float,
                                                void* states, size_t, unsigned long long) {
  return run_on(handle, 0, "dropout's states", {states});
}

SIM_API cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t, cudnnHandle_t, float, void*,
                                                    size_t, unsigned long long) {
  return CUDNN_STATUS_SUCCESS;
}
