#include "simulator/device/settings/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace stowage::simulator {
namespace {

TEST(Settings, SizesAreReadWithTheirUnits) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("80GiB"), std::uint64_t{80} << 30);
  EXPECT_EQ(parse_bytes("1.5gb"), std::uint64_t{3} << 29);
  EXPECT_EQ(parse_bytes("512MiB"), std::uint64_t{512} << 20);
  for (const char* wrong : {"", "GiB", "-1", "12parsecs", "1e40"}) EXPECT_FALSE(parse_bytes(wrong)) << wrong;
}

TEST(Settings, TheEnvironmentIsTaken) {
  setenv("STOWAGE_SIM_MEMORY", "24GiB", 1);
  setenv("STOWAGE_SIM_DEVICES", "2", 1);
  const Settings read = load_settings();
  EXPECT_EQ(read.memory_bytes, std::uint64_t{24} << 30);
  EXPECT_EQ(read.devices, 2);
  unsetenv("STOWAGE_SIM_MEMORY");
  unsetenv("STOWAGE_SIM_DEVICES");
}

TEST(Settings, FaultsOfCuptiAreNamesWithNumbers) {
  setenv("STOWAGE_SIM_CUPTI_ERRORS", "cuptiSubscribe:39,cuptiActivityEnable:35", 1);
  setenv("STOWAGE_SIM_CUPTI_FAULTS", "drop:3", 1);
  const Settings read = load_settings();
  EXPECT_EQ(read.cupti_errors.at("cuptiSubscribe"), 39);
  EXPECT_EQ(read.cupti_errors.at("cuptiActivityEnable"), 35);
  EXPECT_EQ(read.cupti_faults.at("drop"), 3);
  unsetenv("STOWAGE_SIM_CUPTI_ERRORS");
  unsetenv("STOWAGE_SIM_CUPTI_FAULTS");
}

TEST(SettingsDeathTest, AFaultThatIsNoneIsNamedAndEndsTheProcess) {
  for (const char* const wrong :
       {"cuptiSubscribe", "cuptiSubscribe:", "cuptiSubscribe:x", "a:0", "a:9999999"}) {
    setenv("STOWAGE_SIM_CUPTI_ERRORS", wrong, 1);
    EXPECT_EXIT(load_settings(), ::testing::ExitedWithCode(2), "STOWAGE_SIM_CUPTI_ERRORS=.* is not valid")
        << wrong;
  }
  unsetenv("STOWAGE_SIM_CUPTI_ERRORS");
  setenv("STOWAGE_SIM_CUPTI_FAULTS", "explode:3", 1);
  EXPECT_EXIT(load_settings(), ::testing::ExitedWithCode(2), "explode is not valid: give drop, untimed");
  unsetenv("STOWAGE_SIM_CUPTI_FAULTS");
}

TEST(SettingsDeathTest, ABadValueIsNamedAndEndsTheProcess) {
  setenv("STOWAGE_SIM_DEVICES", "many", 1);
  EXPECT_EXIT(load_settings(), ::testing::ExitedWithCode(2),
              "STOWAGE_SIM_DEVICES=many is not valid: give a number from 1");
  unsetenv("STOWAGE_SIM_DEVICES");
  setenv("STOWAGE_SIM_MEMORY", "much", 1);
  EXPECT_EXIT(load_settings(), ::testing::ExitedWithCode(2), "STOWAGE_SIM_MEMORY=much is not valid");
  unsetenv("STOWAGE_SIM_MEMORY");
}

}  // namespace
}  // namespace stowage::simulator
