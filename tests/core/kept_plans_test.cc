// Kept plans: what is written is read, whatever a plan depends on is in the file's name, and damage is named.
#include "core/kept_plans.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "core/cache_place.h"
#include "core/format/kept_plans_file.h"
#include "core/format/plan_file.h"
#include "tests/core/random_trace.h"

namespace stowage {
namespace {

Plan plan_for(DeviceKind device, std::uint64_t seed = 1) {
  Plan plan = testing::random_plan(seed);
  plan.device = device;
  return plan;
}

KeptPlans some_kept() {
  KeptPlans kept;
  kept.context = {
      DeviceKind::kCuda, "NVIDIA H200", Bytes(std::uint64_t{139} << 30), "2.11.0", "50%", 8, "vmm"};
  kept.job = "train.py";
  kept.plans = {plan_for(DeviceKind::kCuda)};
  return kept;
}

std::vector<std::byte> bytes_of(const KeptPlans& kept) { return encode_kept_plans(kept).value(); }

TEST(KeptPlans, WhatIsWrittenIsRead) {
  const KeptPlans kept = some_kept();
  const auto read = decode_kept_plans(bytes_of(kept));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, kept);
  EXPECT_EQ(bytes_of(kept), bytes_of(*read));
}

TEST(KeptPlans, SeveralPlansAreKeptTogether) {
  KeptPlans kept = some_kept();
  while (kept.plans.size() < kMostKeptPlans)
    kept.plans.push_back(plan_for(DeviceKind::kCuda, kept.plans.size()));
  const auto read = decode_kept_plans(bytes_of(kept));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, kept);
  kept.plans.push_back(plan_for(DeviceKind::kCuda));
  EXPECT_EQ(encode_kept_plans(kept).error().code, ErrorCode::kInvalidPlan);
}

TEST(KeptPlans, AnOpeningIsKeptWithTheOrderOfTheIterations) {
  KeptPlans kept = some_kept();
  for (std::uint64_t seed = 2; seed < 5; ++seed) kept.plans.push_back(plan_for(DeviceKind::kCuda, seed));
  kept.opening = 2;
  kept.history = {0, 2, 1, 2, 3, 3, 2};
  kept.marks = MarkSource::kUser;
  kept.lower_bound = Bytes(4096);
  kept.need = Bytes(8192);
  const auto read = decode_kept_plans(bytes_of(kept));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, kept);
  for (const std::vector<std::uint32_t>& wrong :
       std::vector<std::vector<std::uint32_t>>{{0, 2, 1, 4}, {0, 1, 2, 1}, {1, 0, 2}, {0, 2}, {0, 1}, {}}) {
    kept.history = wrong;
    EXPECT_EQ(encode_kept_plans(kept).error().code, ErrorCode::kInvalidPlan) << wrong.size();
  }
  kept.history.clear();
  kept.opening = 4;
  EXPECT_EQ(encode_kept_plans(kept).error().code, ErrorCode::kInvalidPlan) << "nothing follows";
}

TEST(KeptPlans, NoPlanAndPlansOfAnotherDeviceAreRefused) {
  KeptPlans kept = some_kept();
  kept.plans = {plan_for(DeviceKind::kCpu)};
  EXPECT_EQ(encode_kept_plans(kept).error().code, ErrorCode::kInvalidPlan);
  kept.plans.clear();
  EXPECT_EQ(encode_kept_plans(kept).error().code, ErrorCode::kInvalidPlan);
}

TEST(KeptPlans, AnyPartOfTheContextMakesAnotherName) {
  const PlanContext base = some_kept().context;
  const std::vector<std::function<void(PlanContext&)>> changes = {
      [](PlanContext&) {},
      [](PlanContext& c) { c.device = DeviceKind::kCpu; },
      [](PlanContext& c) { c.device_name = "NVIDIA H100"; },
      [](PlanContext& c) { c.device_memory = Bytes(1); },
      [](PlanContext& c) { c.torch_version = "2.15.0"; },
      [](PlanContext& c) { c.budget = "60%"; },
      [](PlanContext& c) { c.world_size = 9; },
      [](PlanContext& c) { c.backend = "malloc"; },
      // What leaves one field enters the next.
      [](PlanContext& c) { c.torch_version += c.budget, c.budget.clear(); },
  };
  std::set<std::string> names;
  for (const auto& change : changes) {
    PlanContext changed = base;
    change(changed);
    names.insert(kept_plans_name(changed, 7));
    EXPECT_TRUE(is_kept_plans_name(kept_plans_name(changed, 7)));
    EXPECT_TRUE(kept_plans_name(changed, 7).starts_with(kept_plans_prefix(changed)));
  }
  names.insert(kept_plans_name(base, 8));
  EXPECT_EQ(names.size(), changes.size() + 1);
}

TEST(KeptPlans, TheNameIsTheSameInEveryRun) {
  EXPECT_EQ(kept_plans_name(some_kept().context, 0xabc), kept_plans_name(some_kept().context, 0xabc));
  EXPECT_EQ(kept_plans_name(PlanContext(), 0xabc).substr(0, 4), "cpu-");
  EXPECT_NE(kept_plans_name(PlanContext(), 0xabc).find("-0000000000000abc.stowplan"), std::string::npos);
}

TEST(KeptPlans, OtherNamesAreNotOurs) {
  const std::string good = kept_plans_name(PlanContext(), 1);
  for (const std::string& name :
       {std::string(), std::string("cpu-"), "x" + good, good + "x",
        std::string("cpu-0000000000000abc.stowplan"), std::string("plan.stowplan"), "rocm" + good.substr(3),
        good.substr(0, good.size() - 1) + "m", "cpu-G" + good.substr(5)})
    EXPECT_FALSE(is_kept_plans_name(name)) << name;
}

TEST(KeptPlans, ATruncatedOrChangedFileIsDamaged) {
  const std::vector<std::byte> good = bytes_of(some_kept());
  for (const std::size_t size : {std::size_t{0}, std::size_t{20}, std::size_t{48}, good.size() - 1}) {
    const auto read = decode_kept_plans(std::span(good).first(size));
    ASSERT_FALSE(read.ok()) << size;
    EXPECT_EQ(read.error().code, ErrorCode::kDamagedFile) << size;
  }
  for (std::size_t at = 8; at < good.size(); at += 7) {
    std::vector<std::byte> changed = good;
    changed[at] ^= std::byte{0x10};
    EXPECT_FALSE(decode_kept_plans(changed).ok()) << at;
  }
}

TEST(KeptPlans, OtherFilesAreForeign) {
  const auto plan = decode_kept_plans(encode_plan(testing::random_plan(1)).value());
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kForeignFile);
  EXPECT_NE(plan.error().message.find("is a plan where a file of kept plans is needed"), std::string::npos);
  EXPECT_EQ(decode_plan(bytes_of(some_kept())).error().code, ErrorCode::kForeignFile);
}

TEST(CachePlace, IsTheUsersCacheFolder) {
  EXPECT_EQ(users_plan_folder("/x", "/h"), "/x/stowage/plans");
  EXPECT_EQ(users_plan_folder("", "/h"), "/h/.cache/stowage/plans");
  EXPECT_EQ(users_plan_folder("relative", "/h"), "/h/.cache/stowage/plans");
  EXPECT_EQ(users_plan_folder("", ""), "");
  EXPECT_EQ(users_plan_folder("", "relative"), "");
}

TEST(CachePlace, CanBeChosenAndTurnedOff) {
  EXPECT_EQ(plan_folder("", "/standard"), "/standard");
  EXPECT_EQ(plan_folder("plans", "/standard"), "plans");
  for (const char* off : {"off", "0", "none"}) EXPECT_EQ(plan_folder(off, "/standard"), "");
}

}  // namespace
}  // namespace stowage
