// The simulated CUPTI through its C API: what records there are, when they are delivered, and what ties them
// together.
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kBufferBytes = 16 << 10;

// What the client got. Buffers are allocated and freed by it, one by one.
struct Client {
  std::mutex mutex;
  std::vector<std::vector<std::uint8_t>> delivered;
  std::atomic<int> requests{0};
  std::atomic<bool> declines{false};
  std::set<std::thread::id> requesting, completing;
};
Client* client = nullptr;

void on_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most) {
  ++client->requests;
  *most = 0;
  *bytes = client->declines ? 0 : kBufferBytes;
  *buffer = client->declines ? nullptr : new std::uint8_t[kBufferBytes];
  const std::lock_guard lock(client->mutex);
  client->requesting.insert(std::this_thread::get_id());
}

void on_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                  std::size_t valid) {
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(stream, 0u);
  const std::lock_guard lock(client->mutex);
  client->delivered.emplace_back(buffer, buffer + valid);
  client->completing.insert(std::this_thread::get_id());
  delete[] buffer;
}

class Cupti : public ::testing::Test {
 protected:
  void SetUp() override {
    client = &client_;
    ASSERT_EQ(cuptiActivityRegisterCallbacks(&on_requested, &on_completed), CUPTI_SUCCESS);
    for (const CUpti_ActivityKind kind : kKinds) ASSERT_EQ(cuptiActivityEnable(kind), CUPTI_SUCCESS);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    static_cast<void>(records());
  }
  void TearDown() override {
    for (const CUpti_ActivityKind kind : kKinds) EXPECT_EQ(cuptiActivityDisable(kind), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    cudaGetLastError();
  }
  static void launch(cudaStream_t stream) {
    ASSERT_EQ(cudaLaunchKernel(nullptr, dim3(1), dim3(32), nullptr, 0, stream), cudaSuccess);
  }
  /// What was delivered so far, after a flush; each record as bytes.
  std::vector<std::vector<std::uint8_t>> records(std::uint32_t flag = 0) {
    EXPECT_EQ(cuptiActivityFlushAll(flag), CUPTI_SUCCESS);
    std::vector<std::vector<std::uint8_t>> found;
    const std::lock_guard lock(client_.mutex);
    for (std::vector<std::uint8_t>& buffer : client_.delivered) {
      CUpti_Activity* record = nullptr;
      while (cuptiActivityGetNextRecord(buffer.data(), buffer.size(), &record) == CUPTI_SUCCESS) {
        auto* const at = reinterpret_cast<std::uint8_t*>(record);
        found.emplace_back(at, at + std::min<std::size_t>(256, buffer.data() + buffer.size() - at));
      }
    }
    client_.delivered.clear();
    return found;
  }
  template <class Struct>
  static std::vector<Struct> of(const std::vector<std::vector<std::uint8_t>>& all, CUpti_ActivityKind kind) {
    std::vector<Struct> found;
    for (const auto& bytes : all) {
      CUpti_ActivityKind own{};
      std::memcpy(&own, bytes.data(), sizeof own);
      if (own != kind) continue;
      Struct record{};
      std::memcpy(&record, bytes.data(), std::min(sizeof record, bytes.size()));
      found.push_back(record);
    }
    return found;
  }
  static std::vector<CUpti_ActivityKernel9> kernels(const std::vector<std::vector<std::uint8_t>>& all) {
    return of<CUpti_ActivityKernel9>(all, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  }
  static std::vector<CUpti_ActivityAPI> calls(const std::vector<std::vector<std::uint8_t>>& all) {
    return of<CUpti_ActivityAPI>(all, CUPTI_ACTIVITY_KIND_RUNTIME);
  }

  static constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                  CUPTI_ACTIVITY_KIND_MEMCPY,
                                                  CUPTI_ACTIVITY_KIND_MEMSET,
                                                  CUPTI_ACTIVITY_KIND_RUNTIME,
                                                  CUPTI_ACTIVITY_KIND_DRIVER,
                                                  CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                                  CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                                  CUPTI_ACTIVITY_KIND_MEMORY2};
  Client client_;
  cudaStream_t stream_ = nullptr;
};

TEST_F(Cupti, AKernelCarriesTheIdOfItsLaunch) {
  launch(stream_);
  cudaStreamSynchronize(stream_);
  const auto all = records();
  ASSERT_EQ(kernels(all).size(), 1u);
  const CUpti_ActivityKernel9 kernel = kernels(all)[0];
  EXPECT_EQ(kernel.end - kernel.start, 5'000u) << "the cost of the smallest kernel";
  int launches = 0;
  for (const CUpti_ActivityAPI& call : calls(all)) {
    if (call.cbid != CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) continue;
    ++launches;
    EXPECT_EQ(call.correlationId, kernel.correlationId);
    EXPECT_EQ(call.threadId, static_cast<std::uint32_t>(pthread_self()));
    EXPECT_LT(call.start, kernel.start);
  }
  EXPECT_EQ(launches, 1);
}

TEST_F(Cupti, CorrelationIdsRise) {
  for (int i = 0; i < 5; ++i) launch(stream_);
  cudaStreamSynchronize(stream_);
  std::uint32_t last = 0;
  for (const CUpti_ActivityAPI& call : calls(records())) {
    EXPECT_GT(call.correlationId, last);
    last = call.correlationId;
  }
  EXPECT_NE(last, 0u);
}

TEST_F(Cupti, EachApiRecordHasTheInnermostIdOfEachKind) {
  cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 10);
  cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, 20);
  cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, 21);
  launch(stream_);
  std::uint64_t last = 0;
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, &last),
            CUPTI_SUCCESS);
  EXPECT_EQ(last, 21u);
  std::thread([&] { launch(stream_); }).join();  // ids are of a thread
  cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, nullptr);
  cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, nullptr);
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last),
            CUPTI_ERROR_QUEUE_EMPTY);
  cudaStreamSynchronize(stream_);
  const auto all = records();
  const auto externals = of<CUpti_ActivityExternalCorrelation>(all, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  ASSERT_EQ(externals.size(), 2u);
  EXPECT_EQ(externals[0].externalId, 10u);
  EXPECT_EQ(externals[1].externalId, 21u);
  EXPECT_EQ(externals[0].correlationId, kernels(all)[0].correlationId);
  EXPECT_EQ(externals[1].correlationId, kernels(all)[0].correlationId);
}

TEST_F(Cupti, APlainFlushDeliversOnlyWhatIsComplete) {
  for (int i = 0; i < 3; ++i) launch(stream_);
  EXPECT_LT(kernels(records()).size(), 3u) << "the device is not that far";
  cudaStreamSynchronize(stream_);
  EXPECT_GT(kernels(records()).size(), 0u);
  EXPECT_EQ(kernels(records()).size(), 0u) << "each once";
}

TEST_F(Cupti, AForcedFlushDeliversUnfinishedWorkWithoutItsEndAndNeverAgain) {
  for (int i = 0; i < 20; ++i) launch(stream_);
  const auto forced = kernels(records(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  ASSERT_EQ(forced.size(), 20u);
  EXPECT_EQ(forced.back().end, 0u);
  cudaStreamSynchronize(stream_);
  EXPECT_EQ(kernels(records()).size(), 0u);
}

TEST_F(Cupti, CopiesFillsWaitsAndMemoryHaveRecords) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 4096), cudaSuccess);
  std::vector<char> host(4096);
  cudaMemcpyAsync(memory, host.data(), 4096, cudaMemcpyHostToDevice, stream_);
  cudaMemsetAsync(memory, 0, 2048, stream_);
  cudaStreamSynchronize(stream_);
  cudaFree(memory);
  const auto all = records();
  const auto copies = of<CUpti_ActivityMemcpy6>(all, CUPTI_ACTIVITY_KIND_MEMCPY);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].bytes, 4096u);
  EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
  EXPECT_GT(copies[0].end, copies[0].start);
  EXPECT_EQ(of<CUpti_ActivityMemset4>(all, CUPTI_ACTIVITY_KIND_MEMSET)[0].bytes, 2048u);
  const auto waits = of<CUpti_ActivitySynchronization2>(all, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
  const auto operations = of<CUpti_ActivityMemory4>(all, CUPTI_ACTIVITY_KIND_MEMORY2);
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_EQ(operations[0].bytes, 4096u);
  EXPECT_EQ(operations[0].memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
  EXPECT_EQ(operations[1].memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
  EXPECT_EQ(operations[1].address, operations[0].address);
}

TEST_F(Cupti, AGraphsKernelsCarryTheIdOfItsLaunch) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  for (int i = 0; i < 3; ++i) launch(stream_);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(kernels(records()).size(), 0u) << "captured, not run";
  ASSERT_EQ(cudaGraphLaunch(executable, stream_), cudaSuccess);
  cudaStreamSynchronize(stream_);
  const auto found = kernels(records());
  ASSERT_EQ(found.size(), 3u);
  std::set<std::uint64_t> nodes;
  for (const CUpti_ActivityKernel9& kernel : found) {
    EXPECT_EQ(kernel.correlationId, found[0].correlationId);
    EXPECT_NE(kernel.graphId, 0u);
    nodes.insert(kernel.graphNodeId);
  }
  EXPECT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes.count(0), 0u);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

TEST_F(Cupti, FullBuffersAreReturnedByAWorkerWithoutAFlush) {
  for (int i = 0; i < 2'000; ++i) {
    launch(stream_);
    cudaStreamSynchronize(stream_);
  }
  bool by_worker = false;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!by_worker && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
    const std::lock_guard lock(client_.mutex);
    for (const std::thread::id thread : client_.completing) by_worker |= thread != std::this_thread::get_id();
  }
  EXPECT_TRUE(by_worker);
  EXPECT_EQ(kernels(records()).size(), 2'000u);
}

TEST_F(Cupti, EachThreadHasABufferOfItsOwnUnlessToldOtherwise) {
  const auto use_both = [&] {
    client_.requests = 0;
    launch(stream_);
    std::thread([&] { launch(stream_); }).join();
    const int requests = client_.requests;
    static_cast<void>(records(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    return requests;
  };
  EXPECT_EQ(use_both(), 2);
#if CUPTI_API_VERSION >= 130000
  std::uint8_t per_thread = 0;
  std::size_t bytes = sizeof per_thread;
  cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &per_thread);
  EXPECT_EQ(use_both(), 1);
  per_thread = 1;
  cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &per_thread);
#endif
}

TEST_F(Cupti, WhatADeclinedRequestCostsIsCounted) {
  client_.declines = true;
  launch(stream_);
  cudaStreamSynchronize(stream_);
  EXPECT_TRUE(records().empty());
  std::size_t dropped = 0;
  cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  EXPECT_EQ(dropped, 4u) << "two calls, a kernel, a wait";
  cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  EXPECT_EQ(dropped, 0u) << "counted once";
}

TEST_F(Cupti, NothingIsWrittenDownOnceAllKindsAreDisabled) {
  for (const CUpti_ActivityKind kind : kKinds) cuptiActivityDisable(kind);
  static_cast<void>(records(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  client_.requests = 0;
  for (int i = 0; i < 100; ++i) launch(stream_);
  cudaStreamSynchronize(stream_);
  EXPECT_TRUE(records(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED).empty());
  EXPECT_EQ(client_.requests, 0);
}

TEST_F(Cupti, AMutedFunctionHasNoRecords) {
  cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, 0);
  int device = 0;
  cudaGetDevice(&device);
  EXPECT_TRUE(calls(records()).empty());
  cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, 1);
  cudaGetDevice(&device);
  EXPECT_EQ(calls(records()).size(), 1u);
}

TEST_F(Cupti, FunctionsHaveNames) {
  const char* name = nullptr;
  EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
                                 &name),
            CUPTI_SUCCESS);
  EXPECT_STREQ(name, "cudaLaunchKernel_v7000");
  EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemMap, &name),
            CUPTI_SUCCESS);
  EXPECT_STREQ(name, "cuMemMap");
  EXPECT_NE(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 1'000'000, &name), CUPTI_SUCCESS);
}

// What a subscriber is told.
struct Told {
  std::vector<std::pair<std::string, CUpti_ApiCallbackSite>> calls;
  std::vector<std::uint32_t> correlations;
};

void on_call(void* user, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto* const call = static_cast<const CUpti_CallbackData*>(data);
  static_cast<Told*>(user)->calls.emplace_back(call->functionName, call->callbackSite);
  static_cast<Told*>(user)->correlations.push_back(call->correlationId);
}

TEST_F(Cupti, ASubscriberIsToldOfTheCallsThatItAskedForAndOfNoOthers) {
  for (const CUpti_ActivityKind kind : kKinds) cuptiActivityDisable(kind);  // callbacks need none of them
  Told told;
  CUpti_SubscriberHandle subscriber = nullptr;
  ASSERT_EQ(cuptiSubscribe(&subscriber, &on_call, &told), CUPTI_SUCCESS);
  cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                      CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  launch(stream_);
  cudaStreamSynchronize(stream_);
  using Calls = decltype(told.calls);
  const Calls both = {{"cudaLaunchKernel_v7000", CUPTI_API_ENTER},
                      {"cudaLaunchKernel_v7000", CUPTI_API_EXIT}};
  EXPECT_EQ(told.calls, both);
  EXPECT_EQ(told.correlations[0], told.correlations[1]);
  cuptiEnableCallback(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                      CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  launch(stream_);
  EXPECT_EQ(told.calls, both);
  cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
  cudaStreamSynchronize(stream_);
  EXPECT_EQ(told.calls.size(), 4u);
  cuptiUnsubscribe(subscriber);
  cudaStreamSynchronize(stream_);
  EXPECT_EQ(told.calls.size(), 4u);
}

TEST_F(Cupti, ASecondSubscriberIsRefused) {
  CUpti_SubscriberHandle first = nullptr;
  CUpti_SubscriberHandle second = nullptr;
  EXPECT_EQ(cuptiSubscribe(&first, nullptr, nullptr), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiSubscribe(&second, nullptr, nullptr), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(cuptiUnsubscribe(first), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiSubscribe(&second, nullptr, nullptr), CUPTI_SUCCESS);
  cuptiUnsubscribe(second);
}

TEST_F(Cupti, TimesAreOfTheClockThatTimestampsShow) {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  cuptiGetTimestamp(&before);
  launch(stream_);
  cudaStreamSynchronize(stream_);
  cuptiGetTimestamp(&after);
  const auto found = kernels(records());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_LE(before, found[0].start);
  EXPECT_LE(found[0].end, after);
}

TEST_F(Cupti, ThreadsMayRecordWhileOthersFlush) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([] {
      for (int turn = 0; turn < 500; ++turn) launch(nullptr);
    });
  std::size_t found = 0;
  for (int i = 0; i < 50; ++i) found += kernels(records()).size();
  for (std::thread& thread : threads) thread.join();
  cudaDeviceSynchronize();
  found += kernels(records()).size();
  EXPECT_EQ(found, 1'500u);
}

}  // namespace
