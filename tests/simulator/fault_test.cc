// Use after free or unmap is a fault with a name.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <csignal>

namespace {

TEST(FaultDeathTest, TouchingFreedMemoryIsNamed) {
  char* block = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&block), 2 << 20), cudaSuccess);
  block[5] = 1;
  ASSERT_EQ(cudaFree(block), cudaSuccess);
  EXPECT_DEATH(block[5] = 2, "stowage simulator: fault: the host touched 0x.*device 0 with no live memory");
}

TEST(FaultDeathTest, TouchingAReservationIsNamed) {
  CUdeviceptr range = 0;
  ASSERT_EQ(cuMemAddressReserve(&range, 2 << 20, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_DEATH(*reinterpret_cast<char*>(range) = 1, "no live memory");
  EXPECT_EQ(cuMemAddressFree(range, 2 << 20), CUDA_SUCCESS);
}

}  // namespace
