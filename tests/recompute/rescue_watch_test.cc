// Who records the job's allocations is told what rescue evicts and brings back, and what a schedule does is
// not.
#include "recompute/away/rescue_watch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "recompute/residency/rematerializer.h"
#include "recompute/residency/spares.h"
#include "tests/recompute/recorded_ops.h"

namespace stowage::recompute {
namespace {

struct Told final : RescueListener {
  void leaves(const void*, std::uint64_t id) noexcept override {
    events.push_back("leaves " + std::to_string(id));
  }
  void begin_return() noexcept override { events.emplace_back("("); }
  void end_return() noexcept override { events.emplace_back(")"); }
  void is_back(const void* address, std::uint64_t id) noexcept override {
    events.push_back((address != nullptr ? "back " : "nowhere ") + std::to_string(id));
  }
  void is_gone(std::uint64_t id) noexcept override { events.push_back("gone " + std::to_string(id)); }
  std::vector<std::string> events;
};

class RescueWatchTest : public ::testing::Test {
 protected:
  RescueWatchTest() { ops_.rescue.listen(&told_); }
  void evict(const at::Tensor& tensor, bool scheduled) {
    const Deeper as_scheduled(this_thread().scheduled, scheduled);
    ops_.evict(tensor);
  }
  void restore(const at::Tensor& tensor) { rematerializer_.restore(ops_.record_of(tensor)); }
  std::string named(const char* what, const at::Tensor& tensor) {
    return what + std::to_string(ops_.record_of(tensor).serial);
  }
  using Events = std::vector<std::string>;

  test::RecordedOps ops_;
  Spares spares_{ops_.book, ops_.neighbours};
  Rematerializer rematerializer_{ops_.book,      ops_.neighbours, spares_,
                                 ops_.offloader, ops_.counter,    ops_.rescue};
  Told told_;
  const at::Tensor x_ = at::arange(16, at::kFloat);
};

TEST_F(RescueWatchTest, WhatRescueEvictsComesBackWithNothingToShow) {
  const at::Tensor a = ops_.exp_of(x_);
  evict(a, /*scheduled=*/false);
  EXPECT_TRUE(ops_.rescue.any_away());
  restore(a);
  EXPECT_FALSE(ops_.rescue.any_away());
  EXPECT_EQ(told_.events, (Events{named("leaves ", a), "(", named("back ", a), ")"}));
}

TEST_F(RescueWatchTest, WhatAScheduleEvictsIsTheJobs) {
  const at::Tensor a = ops_.exp_of(x_);
  evict(a, /*scheduled=*/true);
  EXPECT_FALSE(ops_.rescue.any_away());
  restore(a);
  EXPECT_EQ(told_.events, Events{named("back ", a)});
}

TEST_F(RescueWatchTest, InTheMidstOfAScheduleRescueIsStillRescue) {
  const at::Tensor a = ops_.exp_of(x_);
  const Deeper scheduled(this_thread().scheduled);
  {
    const Rescuing rescuing;
    ops_.evict(a);
  }
  EXPECT_EQ(told_.events, Events{named("leaves ", a)});
  EXPECT_EQ(this_thread().scheduled, 1);
}

// Else what the schedule makes again would seem to be more than it is.
TEST_F(RescueWatchTest, WhatAScheduledOneIsMadeFromComesBackFirst) {
  const at::Tensor a = ops_.exp_of(x_);
  const at::Tensor b = ops_.exp_of(a);
  evict(b, /*scheduled=*/true);
  evict(a, /*scheduled=*/false);
  restore(b);
  EXPECT_EQ(told_.events, (Events{named("leaves ", a), "(", named("back ", a), ")", named("back ", b)}));
  EXPECT_EQ(ops_.counter.counts().replays, 2u);
}

TEST_F(RescueWatchTest, WhatAScheduleEvictedMayComeBackOnTheWay) {
  const at::Tensor a = ops_.exp_of(x_);
  const at::Tensor b = ops_.exp_of(a);
  evict(b, /*scheduled=*/false);
  evict(a, /*scheduled=*/true);
  restore(b);
  EXPECT_EQ(told_.events, (Events{named("leaves ", b), "(", named("back ", b), ")"}));
  ops_.rescue.is_due(ops_.record_of(a));
  ops_.rescue.is_due(ops_.record_of(a));
  EXPECT_EQ(told_.events.back(), named("back ", a)) << "once the schedule wants it";
  EXPECT_EQ(told_.events.size(), 5u);
}

TEST_F(RescueWatchTest, WhatCameBackOnTheWayMayGoAgainUntold) {
  const at::Tensor a = ops_.exp_of(x_);
  const at::Tensor b = ops_.exp_of(a);
  evict(b, /*scheduled=*/false);
  evict(a, /*scheduled=*/true);
  restore(b);
  evict(a, /*scheduled=*/true);
  ops_.rescue.is_due(ops_.record_of(a));
  EXPECT_EQ(told_.events.size(), 4u);
}

TEST_F(RescueWatchTest, OnceTheScheduleWantsItAwayItIsTheSchedules) {
  const at::Tensor a = ops_.exp_of(x_);
  evict(a, /*scheduled=*/false);
  ops_.rescue.forget(ops_.record_of(a));
  ops_.rescue.forget(ops_.record_of(a));
  restore(a);
  EXPECT_EQ(told_.events, (Events{named("leaves ", a), named("gone ", a), named("back ", a)}));
}

// The copy back goes on counting as what the schedule began.
TEST_F(RescueWatchTest, ACopyBackThatRescueGivesUpComesBackWithNothingToShow) {
  const at::Tensor a = ops_.exp_of(x_);
  evict(a, /*scheduled=*/true);
  StorageRecord& record = ops_.record_of(a);
  ops_.rescue.before_dropping(record, x_.data_ptr());
  ops_.rescue.before_dropping(record, x_.data_ptr());
  EXPECT_TRUE(ops_.rescue.any_away());
  restore(a);
  EXPECT_FALSE(ops_.rescue.any_away());
  EXPECT_EQ(told_.events, (Events{named("leaves ", a), "(", named("back ", a), ")"}));
}

TEST_F(RescueWatchTest, WhereNobodyListensNothingIsNoted) {
  ops_.rescue.listen(nullptr);
  const at::Tensor a = ops_.exp_of(x_);
  evict(a, /*scheduled=*/false);
  EXPECT_FALSE(ops_.rescue.any_away());
  restore(a);
  EXPECT_TRUE(told_.events.empty());
}

}  // namespace
}  // namespace stowage::recompute
