// Kept schedules: what is written is read, what cannot be a schedule is refused, and damage is named.
#include "core/kept_schedule.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/format/kept_plans_file.h"
#include "core/format/kept_schedule_file.h"

namespace stowage {
namespace {

KeptSchedule some_kept() {
  KeptSchedule kept;
  kept.context = {DeviceKind::kCpu, "CPU", Bytes(1 << 30), "2.11.0", "50%", 2, "host"};
  kept.job = "train.py";
  kept.marks = 2;
  for (std::uint64_t op = 0; op < 200; ++op) kept.shape_hashes.push_back(op * op + 17);
  for (std::uint32_t op = 3; op < 200; op += 4)
    kept.actions.push_back({op % 8 == 3 ? ActionKind::kEvict : ActionKind::kRematerialize, op, op / 3});
  kept.lasting = {{5, 0}, {9, 3}};
  kept.actions.push_back({ActionKind::kOffload, 199, kLastingEntries + 1});
  return kept;
}

std::vector<std::byte> bytes_of(const KeptSchedule& kept) { return encode_kept_schedule(kept).value(); }

TEST(KeptSchedule, WhatIsWrittenIsRead) {
  KeptSchedule kept = some_kept();
  for (int i = 0; i < 2; ++i) {
    const auto read = decode_kept_schedule(bytes_of(kept));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, kept);
    EXPECT_EQ(bytes_of(kept), bytes_of(*read));
    kept.actions.clear();  // nothing has to be evicted
  }
}

TEST(KeptSchedule, WhatCannotBeFollowedIsRefused) {
  const std::vector<std::function<void(KeptSchedule&)>> changes = {
      [](KeptSchedule& k) { k.shape_hashes.clear(), k.actions.clear(); },
      [](KeptSchedule& k) { k.marks = 0; },
      [](KeptSchedule& k) { k.marks = kMostKeptMarks + 1; },
      [](KeptSchedule& k) { k.actions.back().op = 200; },
      [](KeptSchedule& k) { k.actions.back().op = 0; },
      [](KeptSchedule& k) { k.actions.back().entry = kLastingEntries + 2; },
      [](KeptSchedule& k) { k.actions.back().kind = ActionKind{6}; },
      [](KeptSchedule& k) { k.lasting.back().op = 200; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    KeptSchedule kept = some_kept();
    changes[i](kept);
    EXPECT_EQ(encode_kept_schedule(kept).error().code, ErrorCode::kInvalidPlan) << i;
  }
}

TEST(KeptSchedule, EveryTruncationAndEveryBitIsFound) {
  const std::vector<std::byte> good = bytes_of(some_kept());
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto read = decode_kept_schedule(std::span(good).first(size));
    ASSERT_FALSE(read.ok()) << size;
    EXPECT_EQ(read.error().code, ErrorCode::kDamagedFile) << size;
  }
  std::vector<std::byte> changed = good;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    changed[bit / 8] ^= std::byte(1u << bit % 8);
    ASSERT_FALSE(decode_kept_schedule(changed).ok()) << bit;
    changed[bit / 8] = good[bit / 8];
  }
}

TEST(KeptSchedule, OtherFilesAreForeign) {
  const auto read = decode_kept_plans(bytes_of(some_kept()));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kForeignFile);
  EXPECT_NE(read.error().message.find("is a kept schedule where a file of kept plans is needed"),
            std::string::npos)
      << read.error().message;
}

TEST(KeptSchedule, ItsNameSaysTheContextAndTheOps) {
  const KeptSchedule kept = some_kept();
  const std::string name = kept_schedule_name(kept.context, hash_of_ops(kept.shape_hashes));
  EXPECT_TRUE(name.starts_with(kept_plans_prefix(kept.context))) << name;
  EXPECT_TRUE(is_kept_schedule_name(name) && is_kept_name(name) && !is_kept_plans_name(name)) << name;
  EXPECT_TRUE(is_kept_name(kept_plans_name(kept.context, 1)));
  EXPECT_FALSE(is_kept_schedule_name(kept_plans_name(kept.context, 1)));
  for (const std::string& other : {std::string(), std::string(".stowschedule"), name + "x", "x" + name})
    EXPECT_FALSE(is_kept_name(other)) << other;
  std::vector<std::uint64_t> ops = kept.shape_hashes;
  std::swap(ops[0], ops[1]);
  EXPECT_NE(kept_schedule_name(kept.context, hash_of_ops(ops)), name);
  PlanContext context = kept.context;
  context.budget = "60%";
  EXPECT_NE(kept_schedule_name(context, hash_of_ops(kept.shape_hashes)), name);
}

}  // namespace
}  // namespace stowage
