// CUPTI's clock beside the host's: its own, and one that another client left.
#include <gtest/gtest.h>

#include "tracer/cupti/times/clock_pairs.h"

namespace stowage::tracer::cupti {
namespace {

constexpr std::uint64_t kNow = 1'790'000'000'000'000'000;  // of CLOCK_REALTIME, in ns

TEST(ClockMap, ItsOwnClockCountsNanoseconds) {
  const ClockMap map({kNow, 5'000, kNow + 40}, {kNow + 1'000, 6'000, kNow + 1'040});
  EXPECT_FALSE(map.is_foreign());
  EXPECT_EQ(map.length_ns(123), 123u);
  EXPECT_EQ(map.steady_ns(kNow + 250), 5'250u);
  EXPECT_EQ(map.steady_ns(kNow - 250), 4'750u);
}

TEST(ClockMap, ItsOwnClockKeepsLengthsThoughItRunsSlowly) {
  const ClockMap map({kNow, 5'000, kNow}, {kNow + 100, 6'000, kNow + 1'000});
  EXPECT_EQ(map.length_ns(100), 100u) << "as on the simulated device, whose time is virtual";
  EXPECT_EQ(map.steady_ns(kNow + 50), 5'500u) << "pictures show it where the host was";
}

TEST(ClockMap, AClockOfTicksIsForeignAndScaled) {
  const ClockMap map({9'000, 5'000, kNow}, {9'000 + 2'500'000, 5'000 + 1'000'000, kNow + 1'000'000});
  EXPECT_TRUE(map.is_foreign());
  EXPECT_EQ(map.length_ns(2'500), 1'000u);
  EXPECT_EQ(map.steady_ns(9'000 + 250'000), 105'000u);
}

TEST(ClockMap, TwoReadingsAtOneMomentScaleNothing) {
  const ClockMap map({9'000, 5'000, kNow}, {9'000, 5'000, kNow});
  EXPECT_EQ(map.length_ns(70), 70u);
  EXPECT_EQ(map.steady_ns(9'070), 5'070u);
  EXPECT_EQ(map.steady_ns(0), 0u) << "never before the host's clock began";
}

}  // namespace
}  // namespace stowage::tracer::cupti
