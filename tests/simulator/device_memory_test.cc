#include "simulator/device/memory/device_memory.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace stowage::simulator {
namespace {

constexpr std::uint64_t kMib = 1 << 20;

TEST(DeviceMemory, LargeBlocksTakeWholePagesAndSmallOnesShareThem) {
  DeviceMemory memory(0, 100 * kMib);
  std::uintptr_t large = 0;
  std::uintptr_t small = 0;
  ASSERT_EQ(memory.allocate(3 * kMib, &large), CUDA_SUCCESS);
  EXPECT_EQ(memory.used_bytes(), 4 * kMib);
  ASSERT_EQ(memory.allocate(100, &small), CUDA_SUCCESS);
  EXPECT_EQ(memory.used_bytes(), 4 * kMib + 512);
}

TEST(DeviceMemory, TheLimitIsExact) {
  DeviceMemory memory(0, 8 * kMib);
  std::uintptr_t first = 0;
  std::uintptr_t second = 0;
  ASSERT_EQ(memory.allocate(6 * kMib, &first), CUDA_SUCCESS);
  EXPECT_EQ(memory.allocate(4 * kMib, &second), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(memory.allocate(~std::uint64_t{0}, &second), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(memory.allocate(2 * kMib, &second), CUDA_SUCCESS);
  EXPECT_EQ(memory.release(first), CUDA_SUCCESS);
  EXPECT_EQ(memory.used_bytes(), 2 * kMib);
  EXPECT_EQ(memory.peak_bytes(), 8 * kMib);
}

TEST(DeviceMemory, FreeingAnythingButALiveBlocksStartIsAnError) {
  DeviceMemory memory(0, 8 * kMib);
  std::uintptr_t block = 0;
  ASSERT_EQ(memory.allocate(2 * kMib, &block), CUDA_SUCCESS);
  EXPECT_EQ(memory.release(block + 512), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(memory.release(block), CUDA_SUCCESS);
  EXPECT_EQ(memory.release(block), CUDA_ERROR_INVALID_VALUE);
}

TEST(DeviceMemory, ACopyMayNotLeaveItsBlock) {
  DeviceMemory memory(0, 8 * kMib);
  std::uintptr_t block = 0;
  ASSERT_EQ(memory.allocate(2 * kMib, &block), CUDA_SUCCESS);
  EXPECT_EQ(memory.check_range(block + kMib, kMib, "copy"), CUDA_SUCCESS);
  EXPECT_EQ(memory.check_range(block + kMib, kMib + 1, "copy"), CUDA_ERROR_ILLEGAL_ADDRESS);
  memory.release(block);
  EXPECT_EQ(memory.check_range(block, 1, "copy"), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(DeviceMemory, RandomBlocksKeepTheAccountsStraight) {
  DeviceMemory memory(0, 64 * kMib);
  std::mt19937 random(7);
  std::vector<std::pair<std::uintptr_t, std::uint64_t>> held;
  std::uint64_t charged = 0;
  for (int step = 0; step < 2000; ++step) {
    if (random() % 3 != 0) {
      const std::uint64_t bytes = 1 + random() % (6 * kMib);
      const std::uint64_t expected = bytes >= kMib ? round_up(bytes, 2 * kMib) : round_up(bytes, 512);
      std::uintptr_t at = 0;
      const bool fits = charged + expected <= 64 * kMib;
      ASSERT_EQ(memory.allocate(bytes, &at), fits ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
      if (!fits) continue;
      held.emplace_back(at, expected);
      charged += expected;
    } else if (!held.empty()) {
      ASSERT_EQ(memory.release(held.back().first), CUDA_SUCCESS);
      charged -= held.back().second;
      held.pop_back();
    }
    ASSERT_EQ(memory.used_bytes(), charged);
  }
}

}  // namespace
}  // namespace stowage::simulator
