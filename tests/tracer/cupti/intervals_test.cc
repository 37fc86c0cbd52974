// Unions and intersections of intervals, against counting ticks one by one.
#include <gtest/gtest.h>

#include <set>

#include "tests/core/random_trace.h"
#include "tracer/cupti/times/intervals.h"

namespace stowage::tracer::cupti {
namespace {

using stowage::testing::Random;

std::vector<Interval> random_intervals(Random& random, std::uint64_t count) {
  std::vector<Interval> made;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t begin = random.below(60);
    made.push_back({begin, begin + random.below(9)});
  }
  return made;
}

std::set<std::uint64_t> ticks_of(const std::vector<Interval>& intervals) {
  std::set<std::uint64_t> ticks;
  for (const Interval& one : intervals)
    for (std::uint64_t tick = one.begin; tick < one.end; ++tick) ticks.insert(tick);
  return ticks;
}

TEST(Intervals, TouchingOnesAreJoined) {
  std::vector<Interval> intervals{{5, 7}, {1, 3}, {3, 5}, {9, 9}};
  normalize(intervals);
  EXPECT_EQ(intervals, (std::vector<Interval>{{1, 7}, {9, 9}}));
  EXPECT_EQ(length_of(intervals), 6u);
}

TEST(Intervals, LengthsAreThoseOfCountedTicks) {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    Random random(seed);
    std::vector<Interval> a = random_intervals(random, random.below(12));
    std::vector<Interval> b = random_intervals(random, random.below(12));
    const std::set<std::uint64_t> in_a = ticks_of(a);
    const std::set<std::uint64_t> in_b = ticks_of(b);
    std::uint64_t common = 0;
    for (const std::uint64_t tick : in_a) common += in_b.count(tick);
    normalize(a);
    normalize(b);
    ASSERT_EQ(length_of(a), in_a.size()) << seed;
    ASSERT_EQ(common_length(a, b), common) << seed;
    ASSERT_EQ(common_length(b, a), common) << seed;
  }
}

}  // namespace
}  // namespace stowage::tracer::cupti
