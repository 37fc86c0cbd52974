// The exported stream, event and launch functions.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "simulator/device/counters.h"

namespace {

class ApiStream : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&event_), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    cudaGetLastError();
  }

  void launch(cudaStream_t stream) {
    ASSERT_EQ(cudaLaunchKernel(nullptr, dim3(1), dim3(32), nullptr, 0, stream), cudaSuccess);
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

TEST_F(ApiStream, AnEventBehindKernelsIsNotReadyUntilWaitedFor) {
  for (int at = 0; at < 10; ++at) launch(stream_);
  ASSERT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaSuccess);
}

TEST_F(ApiStream, PollingAloneGetsThere) {
  for (int at = 0; at < 10; ++at) launch(stream_);
  ASSERT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
  int polls = 0;
  while (cudaEventQuery(event_) == cudaErrorNotReady && polls < 1000) ++polls;
  EXPECT_GT(polls, 10);
  EXPECT_LT(polls, 100);
}

TEST_F(ApiStream, ElapsedTimeIsTheKernelsCost) {
  cudaEvent_t start = nullptr;
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  launch(stream_);
  cudaEventRecord(start, stream_);
  for (int at = 0; at < 100; ++at) launch(stream_);
  cudaEventRecord(event_, stream_);
  float milliseconds = 0;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, event_), cudaErrorNotReady);
  cudaDeviceSynchronize();
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, event_), cudaSuccess);
  EXPECT_FLOAT_EQ(milliseconds, 0.5F);  // 100 kernels of 5 µs
  cudaEventDestroy(start);
}

TEST_F(ApiStream, ACopyFromPinnedMemoryDoesNotWaitAndAPageableOneDoes) {
  void* device = nullptr;
  void* pinned = nullptr;
  char pageable[256];
  ASSERT_EQ(cudaMalloc(&device, 256), cudaSuccess);
  ASSERT_EQ(cudaHostAlloc(&pinned, 256, 0), cudaSuccess);
  for (int at = 0; at < 10; ++at) launch(stream_);
  ASSERT_EQ(cudaMemcpyAsync(pinned, device, 256, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
  ASSERT_EQ(cudaMemcpyAsync(pageable, device, 256, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaSuccess);
  cudaFree(device);
  cudaFreeHost(pinned);
}

TEST_F(ApiStream, DeadHandlesAreRefused) {
  EXPECT_EQ(cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(0x1234)), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventQuery(reinterpret_cast<cudaEvent_t>(0x1234)), cudaErrorInvalidResourceHandle);
  cudaIpcMemHandle_t handle;
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, nullptr), cudaErrorNotSupported);
}

TEST_F(ApiStream, ACapturingStreamDoesNothingUntilItsGraphIsLaunched) {
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  for (int at = 0; at < 10; ++at) launch(stream_);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  cudaGraph_t none = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &none), cudaErrorIllegalState);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(ApiStream, AGraphIsDoneAsAWhole) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t made = nullptr;
  std::size_t nodes = 0;
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  for (int at = 0; at < 10; ++at) launch(stream_);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 10U);
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&made, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(made, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
  EXPECT_EQ(cudaGraphExecDestroy(made), cudaSuccess);
}

TEST_F(ApiStream, WaitingWhileAStreamCapturesBreaksTheCapture) {
  cudaGraph_t graph = nullptr;
  for (const auto& breaking : {+[](cudaStream_t stream) { return cudaStreamSynchronize(stream); },
                               +[](cudaStream_t) { return cudaDeviceSynchronize(); }}) {
    ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(breaking(stream_), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
  }
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(ApiStream, ACaptureEndsWithItsStream) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(ApiStream, HostFunctionsRunInOrder) {
  int order[2] = {0, 0};
  static int next = 0;
  next = 0;
  const auto note = [](void* slot) { *static_cast<int*>(slot) = ++next; };
  cudaLaunchHostFunc(stream_, note, &order[0]);
  cudaLaunchHostFunc(stream_, note, &order[1]);
  EXPECT_EQ(order[0], 1);
  EXPECT_EQ(order[1], 2);
}

}  // namespace
