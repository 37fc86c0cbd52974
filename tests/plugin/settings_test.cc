// Settings: every one is read, bounded, listed; whatever is wrong is one error that names it.
#include "plugin/settings.h"

#include <gtest/gtest.h>

namespace stowage::plugin {
namespace {

std::string error_of(const std::vector<std::pair<std::string, std::string>>& environment,
                     const char* lines = "") {
  const Result<Settings> settings = parse_settings(environment, lines);
  return settings.ok() ? "" : settings.error().message;
}

TEST(Settings, ComeFromTheEnvironmentAndAreOverridden) {
  const auto settings = parse_settings({{"STOWAGE", "1"}, {"STOWAGE_MAX_PLANS", "3"}, {"HOME", "/"}},
                                       "max_plans=5\nplan_seconds=0.5\ndevices=both\n");
  ASSERT_TRUE(settings.ok());
  EXPECT_TRUE(settings->enable);
  EXPECT_EQ(settings->max_plans, 5u);
  EXPECT_EQ(settings->plan_seconds, 0.5);
  EXPECT_EQ(settings->devices, Devices::kBoth);
}

TEST(Settings, WhatIsWrongIsNamedWithItsBounds) {
  EXPECT_NE(error_of({{"STOWAGE_MAX_PLANS", "0"}}).find("STOWAGE_MAX_PLANS is \"0\", but it takes 1 to 64"),
            std::string::npos);
  for (const char* value : {"", "x", "-1", "1e3", "65", "3 ", "99999999999999999999"})
    EXPECT_NE(error_of({{"STOWAGE_MAX_PLANS", value}}), "") << value;
  for (const char* value : {"nan", "inf", "-0.1", "1.1", "0,5"})
    EXPECT_NE(error_of({{"STOWAGE_MISS_TOLERANCE", value}}), "") << value;
  EXPECT_NE(error_of({{"STOWAGE", "yes"}}), "");
  EXPECT_NE(error_of({{"STOWAGE_ARENA", "VMM"}}).find("vmm | malloc"), std::string::npos);
}

TEST(Settings, AnUnknownNameIsAnErrorButOthersVariablesAreNot) {
  EXPECT_NE(error_of({{"STOWAGE_MAX_PLAN", "3"}}).find("STOWAGE_MAX_PLAN"), std::string::npos);
  EXPECT_NE(error_of({}, "nothing=1").find("nothing"), std::string::npos);
  EXPECT_NE(error_of({}, "max_plans"), "");
  EXPECT_EQ(
      error_of({{"STOWAGER", "x"}, {"STOWAGE_SIM_MEMORY", "1GiB"}, {"STOWAGE_BUILD", "/b"}, {"STOWAGE", ""}}),
      "");
}

TEST(Settings, TheListCanBeReadBack) {
  Settings changed;
  changed.max_plans = 7;
  changed.trace = "a b=c";
  std::vector<std::pair<std::string, std::string>> environment;
  for (const SettingRow& row : list_settings(changed)) {
    EXPECT_FALSE(row.help.empty()) << row.variable;
    EXPECT_FALSE(row.bounds.empty()) << row.variable;
    environment.emplace_back(row.variable, row.value);
  }
  const auto read = parse_settings(environment, "");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->max_plans, 7u);
  EXPECT_EQ(read->trace, "a b=c");
  EXPECT_EQ(settings_json(*read), settings_json(changed));
}

}  // namespace
}  // namespace stowage::plugin
