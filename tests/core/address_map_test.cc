// The hash map of addresses against the standard ones, with keys that collide.
#include "core/support/address_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <unordered_map>
#include <vector>

#include "core/support/mix.h"

namespace stowage {
namespace {

TEST(AddressMap, agrees_with_the_standard_map) {
  std::mt19937 random(3);
  AddressMap<std::uint64_t> map;
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

TEST(AddressMap, FindsWhatWasAddedAndNotRemoved) {
  AddressMap<int*> map;
  std::map<const void*, int*> expected;
  SplitMix random(7);
  const auto number = [](const void* key) { return reinterpret_cast<std::uintptr_t>(key); };
  const auto find = [&](const void* key) {
    int** const found = map.find(number(key));
    return found == nullptr ? nullptr : *found;
  };
  std::vector<int> objects(4096);
  std::vector<char> keys(std::size_t{4096} * 16);
  for (int round = 0; round < 20000; ++round) {
    const std::size_t at = random.next() % objects.size();
    const void* const key = &keys[at * 16];
    if (expected.contains(key)) {
      map.erase(number(key));
      expected.erase(key);
    } else {
      map.insert(number(key), &objects[at]);
      expected[key] = &objects[at];
    }
    const void* const other = &keys[random.next() % objects.size() * 16];
    const auto found = expected.find(other);
    ASSERT_EQ(find(other), found == expected.end() ? nullptr : found->second) << "round " << round;
  }
  for (const auto& [key, object] : expected) ASSERT_EQ(find(key), object);
  map.clear();
  for (const auto& [key, object] : expected) ASSERT_EQ(find(key), nullptr);
}

}  // namespace
}  // namespace stowage
