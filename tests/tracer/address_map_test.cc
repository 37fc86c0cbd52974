// The recorder's hash map against std::unordered_map, with keys that collide.
#include "tracer/address_map.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace stowage::tracer {
namespace {

TEST(AddressMap, agrees_with_the_standard_map) {
  std::mt19937 random(3);
  AddressMap map;
  std::unordered_map<std::uintptr_t, std::uint64_t> expected;
  for (std::uint64_t step = 0; step < 200'000; ++step) {
    // Grows to thousands of entries, shrinks again, so that probe runs form and are closed.
    const bool growing = step / 20'000 % 2 == 0;
    const std::uintptr_t address = 512 * (1 + random() % 6000);
    if (random() % 10 < (growing ? 7u : 3u)) {
      map.insert(address, step);
      expected[address] = step;
    } else {
      EXPECT_EQ(map.erase(address), expected.erase(address) == 1);
    }
    const std::uintptr_t probe = 512 * (1 + random() % 6000);
    const std::uint64_t* found = map.find(probe);
    const auto there = expected.find(probe);
    ASSERT_EQ(found != nullptr, there != expected.end());
    if (found != nullptr) {
      ASSERT_EQ(*found, there->second);
    }
  }
  EXPECT_EQ(map.size(), expected.size());
  std::size_t visited = 0;
  map.for_each([&](std::uintptr_t address, std::uint64_t number) {
    EXPECT_EQ(expected.at(address), number);
    ++visited;
  });
  EXPECT_EQ(visited, expected.size());
}

}  // namespace
}  // namespace stowage::tracer
