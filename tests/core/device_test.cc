#include "core/device.h"

#include <gtest/gtest.h>

namespace stowage {
namespace {

TEST(Device, IsSpelledAsTorchSpellsIt) {
  EXPECT_STREQ(to_string(DeviceKind::kCpu), "cpu");
  EXPECT_STREQ(to_string(DeviceKind::kCuda), "cuda");
  EXPECT_EQ(to_string(Device{}), "cpu");
  EXPECT_EQ(to_string(Device{DeviceKind::kCuda, 0}), "cuda:0");
  EXPECT_EQ(to_string(Device{DeviceKind::kCuda, 1}), "cuda:1");
}

TEST(Device, IsAnotherWithAnotherKindOrNumber) {
  const Device second{DeviceKind::kCuda, 1};
  EXPECT_EQ(second, (Device{DeviceKind::kCuda, 1}));
  EXPECT_NE(second, (Device{DeviceKind::kCuda, 0}));
  EXPECT_NE(second, (Device{DeviceKind::kCpu, 1}));
}

}  // namespace
}  // namespace stowage
