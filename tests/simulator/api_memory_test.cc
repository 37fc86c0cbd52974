// The exported memory functions, called as a program calls them.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "simulator/device/counters.h"

namespace {

TEST(ApiMemory, SmallCopiesAreRealAndUnknownBytesAreZero) {
  char* block = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&block), 4096), cudaSuccess);
  const int sent[2] = {41, 42};
  int received[2] = {0, 0};
  ASSERT_EQ(cudaMemcpy(block, sent, sizeof sent, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(received, block, sizeof received, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(received[1], 42);
  ASSERT_EQ(cudaMemcpy(received, block, sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(received[0], 0);  // not the range that was sent: a kernel's result as far as anybody knows
  cudaFree(block);
}

TEST(ApiMemory, OutOfMemoryIsAnErrorThatPasses) {
  stowage_sim_reset();
  size_t free_bytes = 0;
  size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  void* block = nullptr;
  EXPECT_EQ(cudaMalloc(&block, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&block, total / 2), cudaSuccess);
  EXPECT_EQ(cudaFree(block), cudaSuccess);
  stowage_sim_counters_t seen;
  stowage_sim_counters(&seen);
  EXPECT_EQ(seen.out_of_memory, 1);
  EXPECT_EQ(seen.mallocs, 1);
  EXPECT_EQ(seen.frees, 1);
  EXPECT_EQ(seen.used_bytes, 0);
  EXPECT_EQ(seen.peak_bytes, static_cast<int64_t>(total / 2));
}

TEST(ApiMemory, MisuseIsNamed) {
  int on_host = 0;
  EXPECT_EQ(cudaFree(&on_host), cudaErrorInvalidValue);
  EXPECT_NE(std::string(stowage_sim_last_misuse()).find("is not device memory"), std::string::npos);
  void* block = nullptr;
  ASSERT_EQ(cudaMalloc(&block, 2 << 20), cudaSuccess);
  cudaFree(block);
  EXPECT_EQ(cudaMemcpy(&on_host, block, 4, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
  EXPECT_NE(std::string(stowage_sim_last_misuse()).find("not live memory"), std::string::npos);
  cudaGetLastError();
}

TEST(ApiMemory, PointersAreTold) {
  void* device = nullptr;
  void* pinned = nullptr;
  int pageable = 0;
  ASSERT_EQ(cudaMalloc(&device, 512), cudaSuccess);
  ASSERT_EQ(cudaHostAlloc(&pinned, 512, 0), cudaSuccess);
  cudaPointerAttributes told;
  cudaPointerGetAttributes(&told, static_cast<char*>(device) + 100);
  EXPECT_EQ(told.type, cudaMemoryTypeDevice);
  cudaPointerGetAttributes(&told, pinned);
  EXPECT_EQ(told.type, cudaMemoryTypeHost);
  cudaPointerGetAttributes(&told, &pageable);
  EXPECT_EQ(told.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
}

TEST(ApiMemory, DriverFunctionsAreFoundByName) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result;
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuMemCreate", &function, 12000, 0, &result), cudaSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemCreate));
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 12000, 0, &result), cudaSuccess);
  EXPECT_EQ(result, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(function, nullptr);
}

TEST(ApiMemory, MappingThroughTheDriver) {
  constexpr size_t kPage = 2 << 20;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_EQ(cuMemAddressReserve(&range, 4 * kPage, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemCreate(&handle, kPage, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(range, kPage, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(range, 7, 4, nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_EQ(cuMemSetAccess(range, kPage, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(range, 7, 4, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(range, kPage, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(std::string(stowage_sim_last_misuse()).find("mapped there already"), std::string::npos);
  EXPECT_EQ(cuMemUnmap(range, kPage), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(range, 4 * kPage), CUDA_SUCCESS);
  EXPECT_EQ(stowage_sim_report_leaks(), 0);
}

}  // namespace
