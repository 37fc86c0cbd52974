// The parts that know nothing of torch: room in order of address, sets of neighbours, the table of
// addresses.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "recompute/choice/contiguous_room.h"
#include "recompute/machine/thrash_guard.h"
#include "recompute/residency/neighbours.h"
#include "recompute/schedule/memory_meter.h"

namespace stowage::recompute {
namespace {

// Every pair of first and last, as slow as it is plain.
std::optional<ContiguousRoom> by_enumeration(const std::vector<Stretch>& stretches, std::uint64_t bytes) {
  std::optional<ContiguousRoom> best;
  for (std::size_t first = 0; first < stretches.size(); ++first) {
    double cost = 0;
    for (std::size_t last = first; last < stretches.size(); ++last) {
      if (last > first && stretches[last].begin != stretches[last - 1].end) break;
      cost += stretches[last].cost;
      if (stretches[last].end - stretches[first].begin < bytes) continue;
      if (!best || cost < best->cost) best = ContiguousRoom{first, last, cost};
      break;
    }
  }
  return best;
}

TEST(ThrashGuard, ComparesWithTheJobsOwnOpsSinceItBegan) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  ThrashGuard guard;
  guard.note_ops(kSecond);
  EXPECT_FALSE(guard.holds(3 * kSecond, 3));
  EXPECT_TRUE(guard.holds(3 * kSecond + 1, 3));
  guard.note_ops(kSecond);
  EXPECT_FALSE(guard.holds(6 * kSecond, 3));
  guard.begin(100, 7 * kSecond);
  EXPECT_EQ(guard.age(110), 10u);
  EXPECT_FALSE(guard.holds(7 * kSecond + ThrashGuard::kFloorNs, 3));
  EXPECT_TRUE(guard.holds(7 * kSecond + ThrashGuard::kFloorNs + 1, 3));
}

TEST(MemoryMeter, WhatWasHeldBeforeIsNotWhatTheFirstOpTakes) {
  MemoryMeter meter;
  meter.start(300);
  meter.mark();
  const std::int64_t before = meter.level();
  EXPECT_FALSE(meter.heard());
  meter.note(50, 1050, true);
  meter.note(-20, 1030, true);
  EXPECT_EQ(meter.peak() - before, 50);
  EXPECT_EQ(meter.level() - before, 30);
  EXPECT_EQ(meter.base(), 1000 + 300) << "with what is evicted";
  meter.note(-200, 830, false);
  EXPECT_EQ(meter.level() - before, 30) << "an eviction";
  meter.note_death(10);
  EXPECT_EQ(meter.level() - before, 20);
}

TEST(CheapestRoom, AgreesWithEnumeration) {
  std::mt19937 random(7);
  int found = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Stretch> stretches;
    std::uintptr_t at = 512;
    const int count = 1 + static_cast<int>(random() % 12);
    for (int i = 0; i < count; ++i) {
      if (random() % 4 == 0) at += 512;  // something that stays
      const std::uintptr_t end = at + 512 * (1 + random() % 5);
      const bool free = random() % 3 == 0;
      stretches.push_back({at, end, free ? 0.0 : static_cast<double>(1 + random() % 9), free});
      at = end;
    }
    const std::uint64_t bytes = 512 * (1 + random() % 15);
    const auto room = cheapest_room(stretches, bytes);
    const auto expected = by_enumeration(stretches, bytes);
    ASSERT_EQ(room.has_value(), expected.has_value());
    if (!room) continue;
    ++found;
    EXPECT_EQ(room->cost, expected->cost);
    double cost = 0;
    for (std::size_t i = room->first; i <= room->last; ++i) cost += stretches[i].cost;
    EXPECT_EQ(room->cost, cost);
    EXPECT_GE(stretches[room->last].end - stretches[room->first].begin, bytes);
  }
  EXPECT_GT(found, 500);
}

TEST(CheapestRoom, FreeMemoryCostsNothing) {
  const std::vector<Stretch> stretches{{0, 1024, 5, false}, {1024, 4096, 0, true}, {4096, 5120, 1, false}};
  const auto room = cheapest_room(stretches, 3072);
  ASSERT_TRUE(room.has_value());
  EXPECT_EQ(room->first, 1u);
  EXPECT_EQ(room->last, 1u);
  EXPECT_FALSE(cheapest_room(stretches, 6000).has_value());
  EXPECT_FALSE(cheapest_room({}, 1).has_value());
}

TEST(NeighbourSets, KnowTheSumOfTheirMembers) {
  NeighbourSets sets;
  const auto a = sets.make(10);
  const auto b = sets.make(20);
  const auto c = sets.make(5);
  sets.join(a, b);
  EXPECT_EQ(sets.cost_ns(a), 30u);
  EXPECT_EQ(sets.find(a), sets.find(b));
  EXPECT_NE(sets.find(a), sets.find(c));
  sets.join(b, c);
  sets.join(c, a);
  EXPECT_EQ(sets.cost_ns(b), 35u);
  sets.take_off(b, 20);
  EXPECT_EQ(sets.cost_ns(c), 15u);
  sets.take_off(a, 100);
  EXPECT_EQ(sets.cost_ns(a), 0u);
}

}  // namespace
}  // namespace stowage::recompute
