// Free ranges of a growing space: against a plain model, by random programs.
#include "recompute/stores/extents.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace stowage::recompute {
namespace {

constexpr std::uint64_t kGrain = 64;

Extent take(Extents& extents, std::uint64_t bytes) {
  if (const auto found = extents.take(bytes)) return *found;
  extents.grow(extents.end_for(bytes));
  return extents.take(bytes).value();
}

TEST(ExtentsTest, GrowsByWholeGrains) {
  Extents extents(kGrain);
  EXPECT_FALSE(extents.take(1));
  EXPECT_EQ(extents.end_for(65), 128u);
  const Extent one = take(extents, 65);
  EXPECT_EQ(one.offset, 0u);
  EXPECT_EQ(one.bytes, 65u);
  EXPECT_EQ(extents.used(), 128u);
}

TEST(ExtentsTest, GrowsOnlyByWhatTheFreeEndLacks) {
  Extents extents(kGrain);
  const Extent low = take(extents, 64);
  const Extent high = take(extents, 64);
  extents.give_back(high);
  EXPECT_EQ(extents.end_for(192), 256u);
  extents.give_back(low);
  EXPECT_EQ(extents.end_for(192), 192u);
}

TEST(ExtentsTest, TakesTheRoomThatFitsBest) {
  Extents extents(kGrain);
  std::vector<Extent> all;
  for (const std::uint64_t bytes : {256, 64, 128, 64}) all.push_back(take(extents, bytes));
  extents.give_back(all[0]);
  extents.give_back(all[2]);
  EXPECT_EQ(take(extents, 100).offset, all[2].offset);
}

TEST(ExtentsTest, NeighboursBecomeOne) {
  Extents extents(kGrain);
  std::vector<Extent> all;
  for (int i = 0; i < 4; ++i) all.push_back(take(extents, kGrain));
  for (const int i : {0, 2, 1}) extents.give_back(all[static_cast<std::size_t>(i)]);
  EXPECT_EQ(take(extents, 3 * kGrain).offset, 0u);
}

TEST(ExtentsTest, ShrinksToWhatIsInUse) {
  Extents extents(kGrain);
  const Extent low = take(extents, kGrain);
  const Extent high = take(extents, 5 * kGrain);
  extents.give_back(high);
  EXPECT_EQ(extents.shrink(), kGrain);
  extents.give_back(low);
  EXPECT_EQ(extents.shrink(), 0u);
}

TEST(ExtentsTest, RandomProgramsNeverOverlap) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Extents extents(kGrain);
    std::vector<Extent> taken;
    std::uint64_t used = 0;
    for (int step = 0; step < 200; ++step) {
      if (taken.empty() || random() % 5 < 3) {
        const Extent got = take(extents, 1 + random() % 1000);
        for (const Extent& other : taken) {
          const bool apart = got.offset + extents.whole(got.bytes) <= other.offset ||
                             other.offset + extents.whole(other.bytes) <= got.offset;
          ASSERT_TRUE(apart) << "seed " << seed << ", step " << step;
        }
        ASSERT_LE(got.offset + extents.whole(got.bytes), extents.end());
        used += extents.whole(got.bytes);
        taken.push_back(got);
      } else {
        std::swap(taken[random() % taken.size()], taken.back());
        extents.give_back(taken.back());
        used -= extents.whole(taken.back().bytes);
        taken.pop_back();
      }
      ASSERT_EQ(extents.used(), used) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace stowage::recompute
