#include "simulator/device/memory/address_space.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace stowage::simulator {
namespace {

constexpr std::uint64_t kMib = 1 << 20;

TEST(AddressSpace, FreedAddressesAreReusedLate) {
  AddressSpace space(64 * kMib);
  const auto first = space.take(kMib, kHostPageBytes);
  space.give_back(first, kMib);
  EXPECT_NE(space.take(kMib, kHostPageBytes), first);
}

TEST(AddressSpace, OpenMemoryIsZeroAgainAfterClose) {
  AddressSpace space(8 * kMib);
  const auto at = space.take(kMib, kHostPageBytes);
  ASSERT_TRUE(space.open(at, kMib));
  *reinterpret_cast<char*>(at) = 7;
  space.close(at, kMib);
  ASSERT_TRUE(space.open(at, kMib));
  EXPECT_EQ(*reinterpret_cast<char*>(at), 0);
}

TEST(AddressSpace, AFullSpaceGivesNothingAndAnEmptiedOneGivesAllAgain) {
  AddressSpace space(4 * kMib);
  const auto all = space.take(4 * kMib, kDevicePageBytes);
  ASSERT_NE(all, 0u);
  EXPECT_EQ(space.take(kHostPageBytes, kHostPageBytes), 0u);
  space.give_back(all, 4 * kMib);
  EXPECT_EQ(space.take(4 * kMib, kDevicePageBytes), all);
}

TEST(AddressSpace, RandomTakesNeverOverlapAndCoalesce) {
  constexpr std::uint64_t kBytes = 32 * kMib;
  AddressSpace space(kBytes);
  std::mt19937 random(1);
  std::vector<std::pair<std::uintptr_t, std::uint64_t>> held;
  for (int step = 0; step < 5000; ++step) {
    if (random() % 2 == 0 || held.empty()) {
      const std::uint64_t bytes = (1 + random() % 200) * kHostPageBytes;
      const std::uint64_t alignment = random() % 2 == 0 ? kHostPageBytes : kDevicePageBytes;
      const auto at = space.take(bytes, alignment);
      if (at == 0) continue;
      EXPECT_EQ(at % alignment, 0u);
      for (const auto& [start, length] : held) EXPECT_TRUE(at + bytes <= start || start + length <= at);
      held.emplace_back(at, bytes);
    } else {
      const auto which = random() % held.size();
      space.give_back(held[which].first, held[which].second);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  for (const auto& [start, length] : held) space.give_back(start, length);
  EXPECT_EQ(space.take(kBytes, kDevicePageBytes), space.base());
}

}  // namespace
}  // namespace stowage::simulator
