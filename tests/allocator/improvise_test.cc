// Requests that the plan has no free place for get room in the arena that nothing needs while they live.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "allocator/arena/backend.h"
#include "allocator/arena/host_backend.h"
#include "allocator/planned_allocator.h"

namespace stowage::allocator {
namespace {

constexpr std::uint64_t kBlock = 64 << 10;
constexpr StreamId kStream{0};

/// Requests one beside the other, each freed before the entry that `deaths` names.
Plan plan_of(const std::vector<std::uint32_t>& deaths) {
  Plan plan;
  for (std::size_t i = 0; i < deaths.size(); ++i) {
    plan.entries.push_back({Bytes(kBlock), kStream, Offset(i * kBlock), kUpstream});
    plan.entries.back().death = deaths[i];
  }
  plan.height = Bytes(deaths.size() * kBlock);
  return plan;
}

std::unique_ptr<PlannedAllocator> serving(std::vector<Plan> plans, std::uint64_t bytes) {
  auto arena = make_arena(HostBackend(), Bytes(bytes), Bytes(bytes));
  EXPECT_TRUE(arena.ok());
  auto made = std::make_unique<PlannedAllocator>(std::move(*arena), std::move(plans));
  made->improvise(true);
  return made;
}

std::uint64_t offset_of(const PlannedAllocator& allocator, void* address) {
  return static_cast<std::uint64_t>(static_cast<std::byte*>(address) -
                                    static_cast<std::byte*>(allocator.arena().base()));
}

TEST(Improvise, ARequestWhosePlaceIsInUseGetsOneThatIsFreeForAsLongAsItLives) {
  const auto allocator = serving({plan_of({1, 2, 3, 4})}, 4 * kBlock);
  void* const stays = allocator->allocate(Bytes(kBlock), kStream);
  allocator->on_mark();
  void* const displaced = allocator->allocate(Bytes(kBlock), kStream);
  ASSERT_NE(displaced, nullptr);
  EXPECT_EQ(offset_of(*allocator, displaced), kBlock) << "the next entry comes when it is gone";
  allocator->free(displaced);
  for (int i = 1; i < 4; ++i) {
    void* const planned = allocator->allocate(Bytes(kBlock), kStream);
    EXPECT_EQ(offset_of(*allocator, planned), static_cast<std::uint64_t>(i) * kBlock);
    allocator->free(planned);
  }
  allocator->on_mark();
  const ServeCounts counts = allocator->counts();
  EXPECT_EQ(counts.improvised, 1u);
  EXPECT_EQ(counts.displaced, 1u);
  EXPECT_EQ(counts.clean_iterations, 2u);
  allocator->free(stays);
}

TEST(Improvise, WhatOutlivesItsIterationTakesNoPlaceThatTheNextOneNeeds) {
  Plan plan = plan_of({1, 2, 3});
  plan.entries.back().crosses = true;
  const auto allocator = serving({plan}, 3 * kBlock);
  std::vector<void*> first;
  for (int i = 0; i < 3; ++i) {
    first.push_back(allocator->allocate(Bytes(kBlock), kStream));
    if (i < 2) allocator->free(first.back());
  }
  allocator->on_mark();  // the last one stays for longer than the plan knows
  for (int i = 0; i < 2; ++i) allocator->free(allocator->allocate(Bytes(kBlock), kStream));
  EXPECT_EQ(allocator->allocate(Bytes(kBlock), kStream), nullptr) << "0 and 1 are free only till the mark";
  allocator->on_mark();
  allocator->free(first.back());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(offset_of(*allocator, allocator->allocate(Bytes(kBlock), kStream)), i * kBlock);
}

TEST(Improvise, TheNextOneMayBeAnotherPlans) {
  Plan critic = plan_of({1, 2});
  critic.entries[0].crosses = true;
  critic.entries[0].death = 2;
  Plan generator = plan_of({3, 3, 3});
  generator.entries[0].offset = Offset(2 * kBlock);
  generator.entries[2].offset = Offset(4 * kBlock);
  generator.height = Bytes(5 * kBlock);
  const auto allocator = serving({critic, generator}, 5 * kBlock);
  allocator->foresee({0, 1, 0, 1});
  void* const stays = allocator->allocate(Bytes(kBlock), kStream);
  allocator->foresee({0, 1, 0, 1});
  void* const displaced = allocator->allocate(Bytes(kBlock), kStream);
  EXPECT_EQ(offset_of(*allocator, displaced), 3 * kBlock) << "2 and 4 are the generator's, 1 is its own";
  allocator->free(stays);
  allocator->free(displaced);
}

TEST(Improvise, AnIterationIsNotHalfOnePlansAndHalfAnothers) {
  const Plan one = plan_of({3, 3, 3});
  Plan other = one;  // its twin
  std::swap(other.entries[0].offset, other.entries[2].offset);
  other.entries[1].offset = Offset(3 * kBlock);
  other.height = Bytes(4 * kBlock);
  const auto allocator = serving({one, other}, 4 * kBlock);
  void* const stays = allocator->allocate(Bytes(kBlock), kStream);
  ASSERT_EQ(offset_of(*allocator, stays), 0u);
  allocator->on_mark();
  EXPECT_EQ(offset_of(*allocator, allocator->allocate(Bytes(kBlock), kStream)), 2 * kBlock)
      << "the twin's turn";
  EXPECT_EQ(offset_of(*allocator, allocator->allocate(Bytes(kBlock), kStream)), 3 * kBlock);
  EXPECT_EQ(offset_of(*allocator, allocator->allocate(Bytes(kBlock), kStream)), kBlock)
      << "not where the first plan has it, which is in use, and the twin's place is, too";
}

TEST(Improvise, NotWhereAnEntryComesThatNeedsTheRoomBeforeItIsFreed) {
  const auto allocator = serving({plan_of({4, 4, 4, 4})}, 4 * kBlock);
  void* const stays = allocator->allocate(Bytes(kBlock), kStream);
  allocator->on_mark();
  EXPECT_EQ(allocator->allocate(Bytes(kBlock), kStream), nullptr);
  EXPECT_EQ(allocator->counts().misses[static_cast<std::size_t>(Miss::kSlotInUse)], 1u);
  EXPECT_EQ(allocator->counts().missed_bytes, kBlock);
  allocator->free(stays);
}

TEST(Improvise, WhatNoPlanKnowsGoesWhereNoPlanHasAPlace) {
  const auto allocator = serving({plan_of({1, 2})}, 4 * kBlock);
  void* const unknown = allocator->allocate(Bytes(1000), kStream);
  ASSERT_NE(unknown, nullptr);
  EXPECT_GE(offset_of(*allocator, unknown), 2 * kBlock);
  void* const another = allocator->allocate(Bytes(3000), kStream);
  EXPECT_GE(offset_of(*allocator, another), 2 * kBlock);
  EXPECT_NE(allocator->allocate(Bytes(kBlock), kStream), nullptr) << "the plan goes on";
  EXPECT_EQ(allocator->counts().hits, 1u);
  EXPECT_EQ(allocator->counts().improvised, 2u);
}

TEST(Improvise, TheRoomAboveAPlanIsAShareOfItAndAtMost64Kib) {
  EXPECT_EQ(with_room_above(Bytes(64 << 10)), Bytes(64 << 10)) << "less than a granule is none";
  EXPECT_EQ(with_room_above(Bytes(1 << 20)), Bytes((1 << 20) + 4096));
  EXPECT_EQ(with_room_above(Bytes(std::uint64_t{8} << 30)), Bytes((std::uint64_t{8} << 30) + (64 << 10)));
}

TEST(Improvise, PlansThatGrowKeepTheRoomAboveThem) {
  auto arena = make_arena(HostBackend(), Bytes(16 * kBlock), Bytes(4 * kBlock));
  PlannedAllocator allocator(std::move(*arena), {plan_of({4, 4, 4, 4})});
  allocator.improvise(true);
  ASSERT_TRUE(allocator.replace_plans({plan_of({8, 8, 8, 8, 8, 8, 8, 8})}).ok());
  EXPECT_NE(allocator.allocate(Bytes(512), kStream), nullptr);
}

TEST(Improvise, WhatNoPlanKnowsTakesNoPlannedPlace) {
  const auto allocator = serving({plan_of({4, 4, 4, 4})}, 4 * kBlock);
  for (std::uint64_t i = 0; i < 40; ++i)
    EXPECT_EQ(allocator->allocate(Bytes(3000 + 512 * i), kStream), nullptr);
  EXPECT_EQ(allocator->counts().improvised, 0u);
}

/// An iteration in which a request of `bytes` comes that no plan knows; then the session tells how it lived.
void show(PlannedAllocator& allocator, std::uint64_t bytes, bool lasted) {
  EXPECT_EQ(allocator.allocate(Bytes(bytes), kStream), nullptr);
  allocator.on_mark();
  allocator.learn_lives({{round_up(Bytes(bytes)), kStream, lasted}});
}

TEST(Improvise, WhatWasFreedSoonBorrowsThePlaceThatIsNeededLast) {
  const auto allocator = serving({plan_of({4, 4, 4, 4})}, 4 * kBlock);
  show(*allocator, 3000, /*lasted=*/false);
  allocator->allocate(Bytes(kBlock), kStream);
  void* const unknown = allocator->allocate(Bytes(2900), kStream);
  ASSERT_NE(unknown, nullptr);
  EXPECT_GE(offset_of(*allocator, unknown), 2 * kBlock)
      << "what is left of the plan begins with another place";
  EXPECT_EQ(allocator->counts().improvised, 1u);
  allocator->free(unknown);
  for (int i = 1; i < 4; ++i) EXPECT_NE(allocator->allocate(Bytes(kBlock), kStream), nullptr);
  EXPECT_EQ(allocator->counts().displaced, 0u);
}

TEST(Improvise, WhatIsGoneBeforeThePlanGoesOnBorrowsAnyPlace) {
  const auto allocator = serving({plan_of({4, 4})}, 2 * kBlock);
  show(*allocator, kBlock + 512, /*lasted=*/false);
  void* const unknown = allocator->allocate(Bytes(2 * kBlock), kStream);
  ASSERT_NE(unknown, nullptr) << "a place that the plan needs at once";
  allocator->free(unknown);
  for (int i = 0; i < 2; ++i) EXPECT_NE(allocator->allocate(Bytes(kBlock), kStream), nullptr);
  EXPECT_EQ(allocator->counts().displaced, 0u);
}

TEST(Improvise, WhatIsThereWhenThePlanGoesOnBorrowsNoPlaceThatIsNeededSoon) {
  const auto allocator = serving({plan_of({4, 4})}, 2 * kBlock);
  EXPECT_EQ(allocator->allocate(Bytes(2 * kBlock), kStream), nullptr);
  allocator->allocate(Bytes(kBlock), kStream);
  allocator->on_mark();
  allocator->learn_lives({{Bytes(2 * kBlock), kStream, false, 1}, {Bytes(kBlock), kStream, false, 0}});
  EXPECT_EQ(allocator->allocate(Bytes(2 * kBlock), kStream), nullptr);
}

TEST(Improvise, WhatStayedBorrowsNothing) {
  const auto allocator = serving({plan_of({4, 4, 4, 4})}, 4 * kBlock);
  show(*allocator, 3000, /*lasted=*/true);
  show(*allocator, 3000, /*lasted=*/false);
  EXPECT_EQ(allocator->allocate(Bytes(3000), kStream), nullptr);
}

TEST(Improvise, WhatAPlanPassesOnIsNotTakenForWhatItDoesNotKnow) {
  Plan plan = plan_of({4, 4, 4, 4});
  plan.entries[0].crosses = true;
  const auto allocator = serving({plan}, 4 * kBlock);
  for (const bool lasts : {false, true}) {
    EXPECT_EQ(allocator->allocate(Bytes(kBlock + 512), kStream) == nullptr, !lasts);
    allocator->on_mark();
    std::vector<RequestLife> lives(2, {Bytes(kBlock + 512), kStream, lasts});
    lives[0].lasted = true;
    allocator->learn_lives(lives);
  }
  EXPECT_EQ(allocator->allocate(Bytes(kBlock + 512), kStream), nullptr);
}

TEST(Improvise, NothingIsLearnedOfSizesThatThePlanServed) {
  const auto allocator = serving({plan_of({4, 4, 4, 4})}, 4 * kBlock);
  allocator->learn_lives({{Bytes(3072), kStream, /*lasted=*/false}});
  EXPECT_EQ(allocator->allocate(Bytes(3000), kStream), nullptr);
}

TEST(Improvise, NothingUnlessItIsWanted) {
  const auto allocator = serving({plan_of({1, 2})}, 4 * kBlock);
  allocator->improvise(false);
  EXPECT_EQ(allocator->allocate(Bytes(1000), kStream), nullptr);
}

TEST(Improvise, AnotherStreamsAddressesAreNotTaken) {
  Plan plan = plan_of({1, 2});
  plan.entries[1].stream = StreamId(1);
  const auto allocator = serving({plan}, 2 * kBlock);
  for (std::uint64_t i = 0; i < 20; ++i) {
    void* const address = allocator->allocate(Bytes(3000 + 512 * i), kStream);
    EXPECT_TRUE(address == nullptr || offset_of(*allocator, address) < kBlock);
  }
}

TEST(Improvise, BlocksAgeByIterations) {
  const auto allocator = serving({plan_of({1, 2})}, 2 * kBlock);
  void* const stays = allocator->allocate(Bytes(kBlock), kStream);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(allocator->block_at(stays)->age, i);
    allocator->on_mark();
    allocator->free(allocator->allocate(Bytes(kBlock), kStream));
    allocator->free(allocator->allocate(Bytes(kBlock), kStream));
  }
  for (int i = 0; i < 1000; ++i) allocator->on_mark();
  EXPECT_EQ(allocator->block_at(stays)->age, 128);
}

/// For any requests and frees, blocks are disjoint and lie in the arena.
TEST(Improvise, RandomRequestsNeverOverlap) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint32_t> deaths;
    for (std::uint32_t i = 0; i < 12; ++i) deaths.push_back(i + 1 + static_cast<std::uint32_t>(random() % 6));
    const auto allocator = serving({plan_of(deaths), plan_of({3, 3, 3})}, 16 * kBlock);
    std::map<std::uint64_t, std::pair<std::uint64_t, void*>> live;
    for (int step = 0; step < 3000; ++step) {
      if (random() % 40 == 0) allocator->on_mark();
      if (random() % 40 == 0)
        allocator->learn_lives({{Bytes(512 * (1 + random() % 300)), kStream, random() % 8 == 0}});
      if (!live.empty() && random() % 2 == 0) {
        const auto at = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
        allocator->free(at->second.second);
        live.erase(at);
        continue;
      }
      const std::uint64_t bytes = random() % 3 == 0 ? 512 * (1 + random() % 300) : kBlock;
      void* const address = allocator->allocate(Bytes(bytes), kStream);
      if (address == nullptr) continue;
      const std::uint64_t begin = offset_of(*allocator, address), end = begin + bytes;
      ASSERT_LE(end, 16 * kBlock);
      const auto above = live.lower_bound(begin);
      ASSERT_TRUE(above == live.end() || above->first >= end) << "seed " << seed;
      ASSERT_TRUE(above == live.begin() || std::prev(above)->second.first <= begin) << "seed " << seed;
      live[begin] = {end, address};
    }
  }
}

}  // namespace
}  // namespace stowage::allocator
