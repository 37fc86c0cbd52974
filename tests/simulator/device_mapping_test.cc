#include <gtest/gtest.h>

#include "simulator/device/memory/device_memory.h"

namespace stowage::simulator {
namespace {

constexpr std::uint64_t kPage = kDevicePageBytes;

class DeviceMapping : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(memory_.reserve(8 * kPage, 0, &range_), CUDA_SUCCESS);
    ASSERT_EQ(memory_.create(2 * kPage, &handle_), CUDA_SUCCESS);
  }

  DeviceMemory memory_{0, 6 * kPage};
  std::uintptr_t range_ = 0;
  CUmemGenericAllocationHandle handle_ = 0;
};

TEST_F(DeviceMapping, AReservationCostsNoMemoryAndAHandleDoes) {
  EXPECT_EQ(memory_.used_bytes(), 2 * kPage);
  CUmemGenericAllocationHandle second = 0;
  EXPECT_EQ(memory_.create(5 * kPage, &second), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(DeviceMapping, MemoryIsLiveOnlyBetweenSetAccessAndUnmap) {
  EXPECT_FALSE(memory_.is_live(range_));
  ASSERT_EQ(memory_.map(range_, 2 * kPage, 0, handle_), CUDA_SUCCESS);
  EXPECT_FALSE(memory_.is_live(range_));
  ASSERT_EQ(memory_.set_access(range_, 2 * kPage, true), CUDA_SUCCESS);
  EXPECT_EQ(memory_.check_range(range_, 2 * kPage, "copy"), CUDA_SUCCESS);
  EXPECT_EQ(memory_.check_range(range_ + kPage, 2 * kPage, "copy"), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_EQ(memory_.unmap(range_, 2 * kPage), CUDA_SUCCESS);
  EXPECT_FALSE(memory_.is_live(range_));
}

TEST_F(DeviceMapping, MappingTwiceIsAnErrorEvenByOnePage) {
  ASSERT_EQ(memory_.map(range_ + kPage, 2 * kPage, 0, handle_), CUDA_SUCCESS);
  CUmemGenericAllocationHandle second = 0;
  ASSERT_EQ(memory_.create(2 * kPage, &second), CUDA_SUCCESS);
  EXPECT_EQ(memory_.map(range_ + kPage, 2 * kPage, 0, second), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(memory_.map(range_, 2 * kPage, 0, second), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(memory_.map(range_ + 2 * kPage, 2 * kPage, 0, second), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(memory_.map(range_ + 3 * kPage, 2 * kPage, 0, second), CUDA_SUCCESS);
}

TEST_F(DeviceMapping, OutsideTheReservationNothingCanBeMapped) {
  EXPECT_EQ(memory_.map(range_ + 7 * kPage, 2 * kPage, 0, handle_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(memory_.map(range_ - kPage, 2 * kPage, 0, handle_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(memory_.map(range_, 4 * kPage, 0, handle_),
            CUDA_ERROR_INVALID_VALUE);  // more than the handle has
  EXPECT_EQ(memory_.map(range_ + 1, 2 * kPage, 0, handle_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DeviceMapping, UnmapTakesWholeMappingsOnly) {
  EXPECT_EQ(memory_.unmap(range_, 2 * kPage), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(memory_.map(range_, 2 * kPage, 0, handle_), CUDA_SUCCESS);
  EXPECT_EQ(memory_.unmap(range_, kPage), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(memory_.unmap(range_, 3 * kPage), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(memory_.unmap(range_, 2 * kPage), CUDA_SUCCESS);
  EXPECT_EQ(memory_.unmap(range_, 2 * kPage), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DeviceMapping, AReleasedHandleLivesUntilItsLastMappingGoes) {
  ASSERT_EQ(memory_.map(range_, 2 * kPage, 0, handle_), CUDA_SUCCESS);
  ASSERT_EQ(memory_.drop(handle_), CUDA_SUCCESS);
  EXPECT_EQ(memory_.used_bytes(), 2 * kPage);
  EXPECT_EQ(memory_.drop(handle_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(memory_.map(range_ + 4 * kPage, 2 * kPage, 0, handle_), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(memory_.unmap(range_, 2 * kPage), CUDA_SUCCESS);
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

TEST_F(DeviceMapping, ARetainedHandleNeedsTwoReleases) {
  ASSERT_EQ(memory_.map(range_, 2 * kPage, 0, handle_), CUDA_SUCCESS);
  CUmemGenericAllocationHandle same = 0;
  ASSERT_EQ(memory_.retain(range_ + kPage, &same), CUDA_SUCCESS);
  EXPECT_EQ(same, handle_);
  ASSERT_EQ(memory_.unmap(range_, 2 * kPage), CUDA_SUCCESS);
  ASSERT_EQ(memory_.drop(handle_), CUDA_SUCCESS);
  EXPECT_EQ(memory_.used_bytes(), 2 * kPage);
  ASSERT_EQ(memory_.drop(handle_), CUDA_SUCCESS);
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

TEST_F(DeviceMapping, AReservationIsFreedWholeAndEmpty) {
  ASSERT_EQ(memory_.map(range_, 2 * kPage, 0, handle_), CUDA_SUCCESS);
  EXPECT_EQ(memory_.unreserve(range_, 8 * kPage), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(memory_.unmap(range_, 2 * kPage), CUDA_SUCCESS);
  EXPECT_EQ(memory_.unreserve(range_, 4 * kPage), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(memory_.unreserve(range_, 8 * kPage), CUDA_SUCCESS);
  EXPECT_EQ(memory_.map(range_, 2 * kPage, 0, handle_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DeviceMapping, HeldThingsAreListed) {
  ASSERT_EQ(memory_.map(range_, 2 * kPage, 0, handle_), CUDA_SUCCESS);
  std::uint64_t bytes_seen = 0;
  EXPECT_EQ(memory_.each_held([&](const char*, std::uint64_t, std::uint64_t bytes) { bytes_seen += bytes; }),
            3);
  EXPECT_EQ(bytes_seen, (2 + 8 + 2) * kPage);
}

}  // namespace
}  // namespace stowage::simulator
