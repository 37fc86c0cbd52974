#include "plugin/cuda/upstream/torch_versions.h"

#include <gtest/gtest.h>

#include <string>

namespace stowage::plugin {
namespace {

std::string release(int minor_change, const std::string& rest) {
  return std::to_string(TORCH_VERSION_MAJOR) + "." + std::to_string(TORCH_VERSION_MINOR + minor_change) +
         rest;
}

TEST(TorchVersions, ServesItsOwnMinorReleaseWhateverThePatch) {
  EXPECT_TRUE(check_torch_version(release(0, ".0+cu130")).ok());
  EXPECT_TRUE(check_torch_version(release(0, ".7")).ok());
  EXPECT_TRUE(check_torch_version(release(0, "")).ok());
}

TEST(TorchVersions, RefusesAnyOtherAndSaysBoth) {
  for (const std::string& other : {release(1, ".0"), release(-1, ".0"), release(0, "1.0"),
                                   std::string("3.0.0"), std::string("nightly"), std::string()}) {
    const Status status = check_torch_version(other);
    ASSERT_FALSE(status.ok()) << other;
    EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(status.error().message.find(built_torch_version()), std::string::npos);
    EXPECT_NE(status.error().message.find(other), std::string::npos);
  }
}

TEST(TorchVersions, TheLoadedTorchIsTheOneBuiltFor) { EXPECT_TRUE(check_loaded_torch().ok()); }

}  // namespace
}  // namespace stowage::plugin
