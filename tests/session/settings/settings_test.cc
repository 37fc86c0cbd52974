// Settings: every one is read, bounded, listed; what is wrong is named. And the names of processes and their
// files.
#include "session/settings/settings.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "session/settings/environment.h"
#include "session/settings/process_name.h"

namespace stowage::session {
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

TEST(Settings, AnUnknownKeyIsAnErrorWithTheNearestOne) {
  EXPECT_NE(error_of({}, "max_plan=1").find("there is no setting max_plan; did you mean max_plans?"),
            std::string::npos);
  EXPECT_NE(error_of({}, "nothing=1").find("`stowage settings` lists"), std::string::npos);
  EXPECT_NE(error_of({}, "max_plans"), "");
}

TEST(Settings, AnUnknownVariableLeavesTheOthersInForce) {
  const auto settings =
      parse_settings({{"STOWAGE_MAX_PLAN", "x"}, {"STOWAGE", "1"}, {"STOWAGE_MAX_PLANS", "3"}}, "");
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_TRUE(settings->enable);
  EXPECT_EQ(settings->max_plans, 3u);
}

TEST(PlanCacheSetting, IsTheUsersCacheFolderWhereNobodyChooses) {
  const auto folder_of = [](const Environment& environment, const char* lines = "") {
    return parse_settings(environment, lines)->plan_cache;
  };
  EXPECT_EQ(folder_of({{"HOME", "/h"}}), "/h/.cache/stowage/plans");
  EXPECT_EQ(folder_of({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}), "/x/stowage/plans");
  EXPECT_EQ(folder_of({}), "") << "no home, no cache";
  EXPECT_EQ(folder_of({{"STOWAGE_PLAN_CACHE", "mine"}, {"HOME", "/h"}}), "mine");
  EXPECT_EQ(folder_of({{"STOWAGE_PLAN_CACHE", ""}, {"HOME", "/h"}}), "/h/.cache/stowage/plans");
  for (const char* off : {"off", "0", "none"})
    EXPECT_EQ(folder_of({{"STOWAGE_PLAN_CACHE", off}, {"HOME", "/h"}}), "") << off;
  EXPECT_EQ(folder_of({{"STOWAGE_PLAN_CACHE", "off"}, {"HOME", "/h"}}, "plan_cache=mine"), "mine");
  EXPECT_EQ(Settings().plan_cache, "") << "only an environment turns it on";
}

TEST(PlanCacheSetting, IsListedWithTheUsersFolderAsDefault) {
  const auto settings = parse_settings({{"HOME", "/h"}, {"STOWAGE_PLAN_CACHE", "off"}}, "");
  for (const SettingRow& row : list_settings(*settings)) {
    if (row.variable != "STOWAGE_PLAN_CACHE") continue;
    EXPECT_EQ(row.value, "off");
    EXPECT_EQ(row.standard, "/h/.cache/stowage/plans");
  }
}

TEST(PlanCacheSetting, HasALimitInBytes) {
  EXPECT_EQ(parse_settings({}, "")->plan_cache_bytes, 256u << 20);
  EXPECT_EQ(parse_settings({}, "plan_cache_bytes=1048576")->plan_cache_bytes, 1u << 20);
  EXPECT_NE(error_of({{"STOWAGE_PLAN_CACHE_BYTES", "1000"}}), "");
  EXPECT_NE(error_of({{"STOWAGE_PLAN_CACHE_BYTES", "2199023255552"}}), "");
}

TEST(WorldSize, IsWhatTheLauncherSays) {
  EXPECT_EQ(world_size({}), 1u);
  EXPECT_EQ(world_size({{"WORLD_SIZE", "16"}, {"SLURM_NTASKS", "2"}}), 16u);
  EXPECT_EQ(world_size({{"SLURM_NTASKS", "2"}}), 2u);
  EXPECT_EQ(world_size({{"WORLD_SIZE", "0"}}), 1u);
  EXPECT_EQ(world_size({{"WORLD_SIZE", "many"}}), 1u);
  EXPECT_EQ(parse_settings({{"WORLD_SIZE", "4"}, {"RANK", "3"}}, "")->world_size, 4u);
}

TEST(Environment, AnUnknownVariableIsToldWithTheNearestSetting) {
  const auto told = unknown_variables(
      {{"STOWAGE_BUGDET", "1GiB"}, {"STOWAGE_COLOUR_OF_THE_SHIP", "red"}, {"STOWAGE_VERBOSE", "9"}});
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0], "there is no setting STOWAGE_BUGDET, so it is ignored; did you mean STOWAGE_BUDGET?");
  EXPECT_EQ(
      told[1],
      "there is no setting STOWAGE_COLOUR_OF_THE_SHIP, so it is ignored; `stowage settings` lists them all");
}

TEST(Environment, OtherProgramsVariablesAndTheToolsAreNotOurs) {
  EXPECT_TRUE(unknown_variables({{"STOWAGER", "x"},
                                 {"STOWAGE_SIM_MEMORY", "1GiB"},
                                 {"STOWAGE_BUILD", "/b"},
                                 {"STOWAGE", ""},
                                 {"HOME", "/"}})
                  .empty());
}

TEST(ProcessName, IsTheRankThatALauncherGave) {
  EXPECT_EQ(rank_name({{"RANK", "3"}, {"WORLD_SIZE", "8"}}), "rank3");
  EXPECT_EQ(rank_name({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}), "rank0");
  EXPECT_EQ(rank_name({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}), "rank1");
  // torchrun inside a Slurm job counts its own processes.
  EXPECT_EQ(rank_name({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"RANK", "5"}, {"WORLD_SIZE", "16"}}),
            "rank5");
}

TEST(ProcessName, IsEmptyWithoutAnotherRank) {
  EXPECT_EQ(rank_name({}), "");
  EXPECT_EQ(rank_name({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(rank_name({{"RANK", "0"}}), "");
  EXPECT_EQ(rank_name({{"RANK", "../x"}, {"WORLD_SIZE", "2"}}), "");
}

TEST(ProcessCommand, NamesTheScriptByItsPathAndIsTheSameInEachFolder) {
  const auto script = std::filesystem::temp_directory_path() / ("train" + std::to_string(getpid()) + ".py");
  std::ofstream(script.string()) << "pass";
  const std::string absolute = command_of("/usr/bin/python3.11", {script.string(), "--lr", "1"});
  EXPECT_EQ(command_of("/usr/bin/python3.11", {std::filesystem::relative(script).string(), "--lr", "1"}),
            absolute);
  EXPECT_NE(command_of("/usr/bin/python3.11", {script.string(), "--lr", "2"}), absolute);
  EXPECT_NE(command_of("/usr/bin/python3.11", {script.string(), "--lr1"}),
            command_of("/usr/bin/python3.11", {script.string() + "--lr1"}));
  std::filesystem::remove(script);
}

TEST(ProcessCommand, IsEmptyWhereItSaysNothingAboutTheJob) {
  EXPECT_EQ(command_of("/usr/bin/python3", {}), "");
  EXPECT_EQ(command_of("/usr/bin/python3", {"-"}), "");
  EXPECT_EQ(command_of("/usr/bin/python3", {"-c", "from multiprocessing.spawn …", "--multiprocessing-fork"}),
            "");
  EXPECT_EQ(command_of("/opt/trainer", {}), "/opt/trainer");
  EXPECT_NE(process_command(), "");
}

TEST(ProcessName, GoesBeforeTheSuffixOfAPath) {
  EXPECT_EQ(path_for("a.b/report.json", "rank3"), "a.b/report.rank3.json");
  EXPECT_EQ(path_for("/tmp/job", "pid7"), "/tmp/job.pid7");
  EXPECT_EQ(path_for("job.stowtrace", ""), "job.stowtrace");
}

TEST(OutputClaim, NeverNamesAFileThatAnotherProcessWroteMeanwhile) {
  const std::string path = testing::TempDir() + "/claimed.json";
  const std::string other = path_for(path, "pid" + std::to_string(getpid()));
  std::remove(path.c_str());
  const std::int64_t begun = now_ns() - 1;
  EXPECT_EQ(OutputClaim(path, begun).path(), path);
  std::ofstream(path) << "another's";
  EXPECT_EQ(OutputClaim(path, begun).path(), other);
  // What an earlier run wrote is overwritten.
  EXPECT_EQ(OutputClaim(path, now_ns() + 1'000'000'000).path(), path);
}

TEST(OutputClaim, DoesNotWaitForEverForAProcessThatWasStopped) {
  const int folder = open(testing::TempDir().c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(folder, LOCK_EX), 0);
  const std::string path = testing::TempDir() + "/unclaimed.json";
  EXPECT_EQ(OutputClaim(path, now_ns()).path(), path);
  close(folder);
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
}  // namespace stowage::session
