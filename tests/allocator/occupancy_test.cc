#include "allocator/layout/occupancy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "allocator/layout/owner_table.h"

namespace stowage::allocator {
namespace {

// Against one bool a segment: runs within a word, across two, and over many.
TEST(Occupancy, AgreesWithBruteForce) {
  std::mt19937 random(1);
  for (const std::uint32_t segments : {1u, 63u, 64u, 65u, 128u, 1000u}) {
    Occupancy occupancy(segments);
    std::vector<bool> model(segments, false);
    std::vector<SegmentRun> taken;
    for (int step = 0; step < 20000; ++step) {
      if (!taken.empty() && random() % 2 == 0) {
        std::swap(taken[random() % taken.size()], taken.back());
        occupancy.give_back(taken.back());
        std::fill(model.begin() + taken.back().first, model.begin() + taken.back().last + 1, false);
        taken.pop_back();
        continue;
      }
      const auto first = static_cast<std::uint32_t>(random() % segments);
      const SegmentRun run{
          first,
          std::min(segments - 1, first + static_cast<std::uint32_t>(random() % (1u << random() % 11)))};
      const bool free = std::find(model.begin() + run.first, model.begin() + run.last + 1, true) ==
                        model.begin() + run.last + 1;
      ASSERT_EQ(occupancy.try_take(run), free) << segments << " segments, step " << step;
      if (!free) continue;
      std::fill(model.begin() + run.first, model.begin() + run.last + 1, true);
      taken.push_back(run);
    }
  }
}

TEST(OwnerTable, FindsEveryOffset) {
  constexpr std::uint64_t kOffsets = 5000;
  OwnerTable table(kOffsets);
  for (std::uint64_t i = 0; i < kOffsets; ++i) table.at(table.insert(i * i * 512)).requested = Bytes(i + 1);
  for (std::uint64_t i = 0; i < kOffsets; ++i) {
    const Owner* const owner = table.find(i * i * 512);
    ASSERT_NE(owner, nullptr);
    EXPECT_EQ(owner->requested, Bytes(i + 1));
  }
}

TEST(OwnerTable, FindsNobodyAtAnUnknownOffset) {
  OwnerTable table(2);
  table.insert(512);
  EXPECT_EQ(table.find(1024), nullptr);
  EXPECT_EQ(table.find(0), nullptr);
}

}  // namespace
}  // namespace stowage::allocator
