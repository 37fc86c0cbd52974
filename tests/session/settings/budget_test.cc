// Budgets as they are written, and the ledger that holds them.
#include "session/settings/budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "session/ports/ledger.h"
#include "session/settings/settings.h"

namespace stowage::session {
namespace {

TEST(Budget, ReadsAmountsAndShares) {
  EXPECT_EQ(Budget::parse("12GiB")->limit_of(Bytes(1)), Bytes(12ull << 30));
  EXPECT_EQ(Budget::parse("1.5KB")->limit_of(Bytes(1)), Bytes(1500));
  EXPECT_EQ(Budget::parse("70000")->limit_of(Bytes(1)), Bytes(70000));
  EXPECT_EQ(Budget::parse("50%")->kind(), Budget::Kind::kShareOfPeak);
  EXPECT_EQ(Budget::parse("50%")->limit_of(Bytes(1001)), Bytes(500));
  EXPECT_EQ(Budget::parse("80%device")->kind(), Budget::Kind::kShareOfDevice);
  EXPECT_EQ(Budget::parse("12.5%device")->limit_of(Bytes(800)), Bytes(100));
  EXPECT_EQ(Budget::parse("least")->kind(), Budget::Kind::kLeast);
  EXPECT_EQ(Budget::parse("least")->limit_of(Bytes(1000)), Bytes(10)) << "to begin with";
  EXPECT_TRUE(Budget::parse("least")->needs_peak() && Budget::parse("5%")->needs_peak());
  EXPECT_FALSE(Budget::parse("5%device")->needs_peak());
  EXPECT_FALSE(Budget::parse("")->is_set());
  EXPECT_EQ(Budget::parse("12GiB")->text(), "12GiB");
}

TEST(Budget, IsAutoWhereTheUserChoseNothingForACudaDevice) {
  const Settings none_chosen;
  EXPECT_TRUE(none_chosen.budget_of(DeviceKind::kCuda).is_auto());
  EXPECT_FALSE(none_chosen.budget_of(DeviceKind::kCuda).is_set()) << "nothing is limited yet";
  EXPECT_FALSE(none_chosen.budget_of(DeviceKind::kCpu).is_auto());
  for (const char* text : {"none", "auto", "1GiB"}) {
    Settings chosen;
    chosen.budget = *Budget::parse(text);
    for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda})
      EXPECT_EQ(chosen.budget_of(kind).text(), text);
  }
  EXPECT_TRUE(Budget::parse("auto")->is_auto());
  EXPECT_FALSE(Budget::parse("none")->is_auto() || Budget::parse("none")->is_set());
}

TEST(Budget, RefusesEverythingElse) {
  for (const char* text : {"abc", "0", "-1", "200%", "0%", "100.1%", "12 GiB", "GiB", "1e9", "nan", "50%peak",
                           "12gib", "0.5", "99999999999999999999", "9999999TiB", "%", " 5", "5 "})
    EXPECT_FALSE(Budget::parse(text)) << text;
}

TEST(Budget, IsASettingWhoseErrorSaysWhatItTakes) {
  EXPECT_EQ(parse_settings({{"STOWAGE_BUDGET", "1GiB"}}, "")->budget.text(), "1GiB");
  EXPECT_EQ(parse_settings({}, "budget=60%")->budget.text(), "60%");
  const auto wrong = parse_settings({{"STOWAGE_BUDGET", "200%"}}, "");
  ASSERT_FALSE(wrong.ok());
  for (const char* part : {"STOWAGE_BUDGET is \"200%\"", "12GiB", "80%device"})
    EXPECT_NE(wrong.error().message.find(part), std::string::npos) << wrong.error().message;
}

TEST(HostMemory, IsAnAmountOrNoneOrLeftOpen) {
  EXPECT_EQ(HostMemory::parse("64GiB")->bytes(), Bytes(64ull << 30));
  EXPECT_EQ(HostMemory::parse("0")->bytes(), Bytes(0));
  EXPECT_EQ(HostMemory::parse("")->bytes(), std::nullopt);
  EXPECT_EQ(HostMemory::parse("500MB")->text(), "500MB");
  for (const char* text : {"50%", "80%device", "least", "much", "-1"})
    EXPECT_FALSE(HostMemory::parse(text)) << text;
}

TEST(Ledger, CountsArenaAndUpstreamTogetherAndApart) {
  Ledger ledger;
  ledger.take(Bytes(1000));
  ledger.set_limit(Bytes(3000));
  EXPECT_TRUE(ledger.try_take_arena(Bytes(1500)));
  EXPECT_FALSE(ledger.try_take(Bytes(501)));
  EXPECT_EQ(ledger.missing(Bytes(501)), Bytes(1));
  EXPECT_TRUE(ledger.try_take(Bytes(500)));
  ledger.settle(Bytes(500), Bytes(400));
  EXPECT_EQ(ledger.held(), Bytes(2900));
  EXPECT_EQ(ledger.upstream(), Bytes(1400));
  EXPECT_EQ(ledger.peak_held(), Bytes(2900));
  ledger.give_arena(Bytes(1500));
  ledger.give(Bytes(400));
  EXPECT_EQ(ledger.held(), Bytes(1000));
  EXPECT_EQ(ledger.upstream(), Bytes(1000));
  EXPECT_EQ(ledger.peak_upstream(), Bytes(1400));
  ledger.lift_limit();
  EXPECT_EQ(ledger.missing(Bytes(std::uint64_t{1} << 40)), Bytes(0));
}

TEST(Ledger, ALimitBelowWhatIsHeldIsMetOnceEnoughIsGivenBackAndNothingIsAddedBefore) {
  Ledger ledger;
  ledger.take(Bytes(1000));
  EXPECT_FALSE(ledger.met());
  ledger.set_limit(Bytes(600));
  EXPECT_TRUE(ledger.limited());
  EXPECT_FALSE(ledger.met());
  EXPECT_FALSE(ledger.try_take(Bytes(1)));
  ledger.give(Bytes(399));
  EXPECT_FALSE(ledger.met());
  EXPECT_EQ(ledger.missing(Bytes(0)), Bytes(1));
  EXPECT_EQ(ledger.peak_held(), Bytes(1000));
  ledger.give(Bytes(201));
  EXPECT_TRUE(ledger.met());
  EXPECT_EQ(ledger.peak_held(), Bytes(400));
  EXPECT_TRUE(ledger.try_take_arena(Bytes(200)));
  EXPECT_FALSE(ledger.try_take(Bytes(1)));
  EXPECT_EQ(ledger.peak_held(), Bytes(600));
  ledger.set_limit(Bytes(700));
  EXPECT_TRUE(ledger.met());
  EXPECT_EQ(ledger.peak_held(), Bytes(600));
}

TEST(Ledger, WhatIsFoundLaterMayTakeBackThatALimitIsMet) {
  Ledger ledger;
  ledger.set_limit(Bytes(600));
  ledger.take_found(Bytes(600));
  EXPECT_TRUE(ledger.met());
  ledger.take_found(Bytes(300));
  EXPECT_FALSE(ledger.met());
  ledger.give(Bytes(301));
  EXPECT_TRUE(ledger.met());
  EXPECT_EQ(ledger.peak_held(), Bytes(599));
}

TEST(Ledger, AnIterationsPeakBeginsWithWhatIsHeldThen) {
  Ledger ledger;
  ledger.take(Bytes(1000));
  ledger.give(Bytes(600));
  ledger.end_iteration();
  EXPECT_EQ(ledger.last_iteration_peak(), Bytes(1000));
  ledger.take(Bytes(100));
  ledger.give(Bytes(50));
  EXPECT_EQ(ledger.last_iteration_peak(), Bytes(1000)) << "this one has not ended";
  ledger.end_iteration();
  EXPECT_EQ(ledger.last_iteration_peak(), Bytes(500));
  ledger.end_iteration();
  EXPECT_EQ(ledger.last_iteration_peak(), Bytes(450));
}

TEST(Ledger, TheLimitHoldsExactlyWhateverThreadsDo) {
  constexpr std::uint64_t kLimit = 10'000;
  constexpr int kThreads = 8;
  constexpr int kRounds = 20'000;
  Ledger ledger;
  ledger.set_limit(Bytes(kLimit));
  std::atomic<std::uint64_t> exceeded{0};
  std::atomic<std::uint64_t> refused{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 1; t <= kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        const Bytes bytes(997 * t);
        if (!ledger.try_take(bytes)) {
          ++refused;
          continue;
        }
        if (ledger.held().value() > kLimit) ++exceeded;
        ledger.give(bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(exceeded, 0u);
  EXPECT_LT(refused, static_cast<std::uint64_t>(kThreads) * kRounds);
  EXPECT_EQ(ledger.held(), Bytes(0));
}

}  // namespace
}  // namespace stowage::session
