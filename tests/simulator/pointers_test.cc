// What kernels and libraries are given must point to memory that is there.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "simulator/device/counters.h"

extern "C" {
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);
}

namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20;
// at::native::vectorized_elementwise_kernel<4, FillFunctor<float>, std::array<char*, 2>>(int,
// FillFunctor<float>, std::array<char*, 2>)
constexpr const char* kElementwise =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm2EEEEviT0_T1_";
constexpr const char* kPlain = "_Z4copyPfPKfi";  // copy(float*, float const*, int)

class PointersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    stowage_sim_reset();
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&live_), kBytes), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&freed_), kBytes), cudaSuccess);
    ASSERT_EQ(cudaFree(freed_), cudaSuccess);
    freed_ += kBytes / 2;  // its beginning is the end of what lives before it
  }
  void TearDown() override { EXPECT_EQ(cudaFree(live_), cudaSuccess); }

  static std::int64_t misuses() {
    stowage_sim_counters_t seen;
    stowage_sim_counters(&seen);
    return seen.misuses;
  }
  cudaError_t copy(const void* to, const void* from) {
    static const char kFunction = 0;
    __cudaRegisterFunction(nullptr, &kFunction, nullptr, kPlain, 0, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
    int count = 3;
    std::array<void*, 3> arguments{&to, &from, &count};
    return cudaLaunchKernel(&kFunction, dim3(1), dim3(1), arguments.data(), 0, nullptr);
  }
  cudaError_t fill(char* first, char* second) {
    static const char kFunction = 0;
    __cudaRegisterFunction(nullptr, &kFunction, nullptr, kElementwise, 0, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
    int count = 3;
    float value = 1;
    std::array<char*, 2> data{first, second};
    std::array<void*, 3> arguments{&count, &value, &data};
    return cudaLaunchKernel(&kFunction, dim3(1), dim3(1), arguments.data(), 0, nullptr);
  }

  char* live_ = nullptr;
  char* freed_ = nullptr;
};

TEST_F(PointersTest, LiveMemoryItsEndAndNullAreFine) {
  EXPECT_EQ(copy(live_, live_ + kBytes), cudaSuccess);
  EXPECT_EQ(copy(live_, nullptr), cudaSuccess);
  EXPECT_EQ(fill(live_, live_ + 4), cudaSuccess);
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 4096), cudaSuccess);
  EXPECT_EQ(copy(live_, pinned), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(misuses(), 0);
}

TEST_F(PointersTest, FreedMemoryIsAnIllegalAddressWhereverItIsNamed) {
  EXPECT_EQ(copy(live_, freed_), cudaErrorIllegalAddress);
  EXPECT_EQ(copy(freed_, live_), cudaErrorIllegalAddress);
  EXPECT_EQ(fill(live_, freed_), cudaErrorIllegalAddress);
  EXPECT_EQ(misuses(), 3);
  EXPECT_NE(std::string(stowage_sim_last_misuse()).find("vectorized_elementwise_kernel"), std::string::npos);
}

TEST_F(PointersTest, MemoryOfTheHostThatTheDeviceDoesNotReachIsOneToo) {
  const std::vector<char> host(16);
  EXPECT_EQ(copy(live_, host.data()), cudaErrorIllegalAddress);
  EXPECT_EQ(misuses(), 1);
}

TEST_F(PointersTest, MatricesAreLookedAt) {
  cublasHandle_t handle = nullptr;
  ASSERT_EQ(cublasCreate_v2(&handle), CUBLAS_STATUS_SUCCESS);
  const float one = 1;
  const auto product = [&](char* a, char* b, char* c) {
    return cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, reinterpret_cast<float*>(a), 2,
                          reinterpret_cast<float*>(b), 2, &one, reinterpret_cast<float*>(c), 2);
  };
  EXPECT_EQ(product(live_, live_, live_), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(product(freed_, live_, live_), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(product(live_, freed_, live_), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(product(live_, live_, freed_), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(misuses(), 3);
  EXPECT_EQ(cublasDestroy_v2(handle), CUBLAS_STATUS_SUCCESS);
}

}  // namespace
