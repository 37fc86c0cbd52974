#include "session/online/unmarked_run.h"

#include <gtest/gtest.h>

namespace stowage::session {
namespace {

constexpr std::uint32_t kLong = UnmarkedRun::kLong;

/// Allocations until the run is long, while `live(i)` bytes are alive.
template <class Live>
std::uint32_t until_long(UnmarkedRun& run, Live live) {
  for (std::uint32_t i = 1; i <= 4 * kLong; ++i) {
    if (run.on_alloc(Bytes(live(i)))) return i;
  }
  return 0;
}

TEST(UnmarkedRun, IsLongWhereLittleIsAlive) {
  UnmarkedRun run;
  EXPECT_EQ(until_long(run, [](std::uint32_t i) { return i % 1000 == 0 ? 100 : 5000; }), 33'000u);
  EXPECT_EQ(until_long(run, [](std::uint32_t) { return 5000; }), kLong) << "and begins anew";
}

TEST(UnmarkedRun, DoesNotWaitForEver) {
  UnmarkedRun run;
  EXPECT_EQ(until_long(run, [](std::uint32_t i) { return i; }), 2 * kLong);
}

TEST(UnmarkedRun, EndsAtAMark) {
  UnmarkedRun run;
  for (std::uint32_t i = 1; i < kLong; ++i) EXPECT_FALSE(run.on_alloc(Bytes(1)));
  run.on_mark();
  EXPECT_EQ(until_long(run, [](std::uint32_t) { return 1; }), kLong);
}

}  // namespace
}  // namespace stowage::session
