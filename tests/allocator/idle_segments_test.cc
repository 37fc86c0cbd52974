// Memory of an arena that goes back to the device while its addresses stay, and comes again on demand.
#include <gtest/gtest.h>

#include "allocator/arena/fault_backend.h"
#include "allocator/arena/host_backend.h"
#include "allocator/planned_allocator.h"

namespace stowage::allocator {
namespace {

constexpr StreamId kStream{0};
constexpr std::uint64_t kSegment = std::uint64_t{2} << 20;

/// Entries that follow each other in the arena, each of one segment.
Plan plan_of(std::size_t entries) {
  Plan plan;
  for (std::size_t i = 0; i < entries; ++i)
    plan.entries.push_back({Bytes(kSegment), kStream, Offset(i * kSegment), kUpstream});
  plan.height = Bytes(entries * kSegment);
  return plan;
}

struct IdleSegments : testing::Test {
  explicit IdleSegments(std::size_t entries = 4) : plan(plan_of(entries)) {
    auto arena = make_arena(FaultBackend(FakeAddressBackend(), faults), plan.height, plan.height);
    allocator = std::make_unique<PlannedAllocator>(std::move(arena).value(), std::vector<Plan>{plan});
  }
  void* next() { return allocator->allocate(Bytes(kSegment), kStream); }
  std::uint64_t slots_in_use() const {
    return allocator->counts().misses[static_cast<std::size_t>(Miss::kSlotInUse)];
  }

  std::shared_ptr<FaultSwitch> faults = std::make_shared<FaultSwitch>();
  Plan plan;
  std::unique_ptr<PlannedAllocator> allocator;
};

TEST_F(IdleSegments, GoBackAroundWhatIsLive) {
  static_cast<void>(next());
  void* const kept = next();
  EXPECT_EQ(allocator->committed_bytes(), Bytes(4 * kSegment));
  EXPECT_EQ(allocator->decommit_idle(), Bytes(2 * kSegment));
  EXPECT_EQ(faults->mapped, Bytes(2 * kSegment));
  EXPECT_EQ(allocator->committed_bytes(), Bytes(2 * kSegment));
  allocator->free(kept);
  EXPECT_EQ(allocator->decommit_idle(), Bytes(kSegment));
  EXPECT_EQ(allocator->decommit_idle(), Bytes(0));
  EXPECT_EQ(allocator->arena().mapped(), Bytes(4 * kSegment)) << "the addresses stay";
}

TEST_F(IdleSegments, ComeAgainOneByOneWhenThePlanNeedsThem) {
  EXPECT_EQ(allocator->decommit_idle(), Bytes(4 * kSegment));
  const void* const first = next();
  EXPECT_EQ(first, allocator->arena().base());
  EXPECT_EQ(faults->mapped, Bytes(kSegment));
  EXPECT_NE(next(), nullptr);
  EXPECT_EQ(allocator->committed_bytes(), Bytes(2 * kSegment));
  EXPECT_TRUE(allocator->commit_all().ok());
  EXPECT_EQ(faults->mapped, Bytes(4 * kSegment));
  EXPECT_NE(next(), nullptr);
  EXPECT_NE(next(), nullptr);
  EXPECT_EQ(slots_in_use(), 0u);
}

TEST_F(IdleSegments, AboveTheHighestPlanDoNotComeAgain) {
  EXPECT_EQ(allocator->decommit_idle(), Bytes(4 * kSegment));
  Plan lower = plan;
  lower.entries.resize(1);
  lower.height = lower.lower_bound = Bytes(kSegment);
  ASSERT_TRUE(allocator->replace_plans({lower}).ok());
  EXPECT_TRUE(allocator->commit_all().ok());
  EXPECT_EQ(faults->mapped, Bytes(kSegment));
}

TEST_F(IdleSegments, AFullDeviceIsAMissAndAskedAgainAfterTheNextMark) {
  EXPECT_EQ(allocator->decommit_idle(), Bytes(4 * kSegment));
  faults->maps_left = 0;
  EXPECT_EQ(next(), nullptr);
  faults->maps_left = FaultSwitch::kNeverFail;
  EXPECT_EQ(next(), nullptr) << "the device is not asked at each request";
  EXPECT_EQ(slots_in_use(), 2u);
  EXPECT_EQ(faults->mapped, Bytes(0));
  allocator->on_mark();
  EXPECT_NE(next(), nullptr);
}

TEST_F(IdleSegments, StayOutOfServiceWhenPlansComeAndGo) {
  static_cast<void>(next());
  EXPECT_EQ(allocator->decommit_idle(), Bytes(3 * kSegment));
  ASSERT_TRUE(allocator->replace_plans({plan}).ok());
  EXPECT_EQ(next(), nullptr) << "the first slot is in use";
  EXPECT_EQ(faults->mapped, Bytes(kSegment)) << "a slot in use is not worth memory";
  EXPECT_NE(next(), nullptr);
  EXPECT_EQ(faults->mapped, Bytes(2 * kSegment));
  EXPECT_EQ(allocator->committed_bytes(), faults->mapped);
}

TEST(IdleSegmentsOfTheHost, AreReadableAgain) {
  const Plan plan = plan_of(3);
  auto arena = make_arena(HostBackend(), plan.height, plan.height);
  ASSERT_TRUE(arena.ok());
  PlannedAllocator allocator(std::move(*arena), {plan});
  for (int iteration = 0; iteration < 3; ++iteration) {
    std::vector<char*> live;
    for (int i = 0; i < 3; ++i) {
      live.push_back(static_cast<char*>(allocator.allocate(Bytes(kSegment), kStream)));
      ASSERT_NE(live.back(), nullptr);
      live.back()[0] = live.back()[kSegment - 1] = 'x';
      if (i == 1) {
        EXPECT_EQ(allocator.decommit_idle(), Bytes(iteration == 2 ? 0 : kSegment));
      }
    }
    EXPECT_EQ(*live[0] + *live[1], 2 * 'x') << "what was live is untouched";
    for (char* address : live) allocator.free(address);
    allocator.on_mark();
    if (iteration == 1) {
      EXPECT_EQ(allocator.decommit_idle(), plan.height);
    }
  }
}

TEST(SegmentSize, GrowsWithTheArenaFromAHugePage) {
  constexpr Bytes kPage{4096};
  EXPECT_EQ(segment_size(Bytes(1), kPage), Bytes(kSegment));
  EXPECT_EQ(segment_size(Bytes(512 * kSegment), kPage), Bytes(kSegment));
  EXPECT_EQ(segment_size(Bytes(512 * kSegment + 1), kPage), Bytes(2 * kSegment));
  EXPECT_EQ(segment_size(Bytes(std::uint64_t{80} << 30), kPage), Bytes(128 * kSegment));
  EXPECT_EQ(segment_size(Bytes(1), Bytes(64 * kSegment)), Bytes(64 * kSegment)) << "a coarse device";
}

TEST(SegmentSize, IsSmallWhereAnArenaGrowsByLittle) {
  constexpr Bytes kPage{4096};
  EXPECT_EQ(further_segment_size(Bytes(1), Bytes(9 * kSegment), kPage), kPage);
  EXPECT_EQ(further_segment_size(Bytes(2 * kSegment), Bytes(9 * kSegment), kPage), Bytes(kSegment / 8));
  EXPECT_EQ(further_segment_size(Bytes(512 * kSegment), Bytes(1024 * kSegment), kPage), Bytes(2 * kSegment));
  EXPECT_EQ(further_segment_size(Bytes(1), Bytes(kSegment), Bytes(kSegment)), Bytes(kSegment))
      << "a coarse device";
}

}  // namespace
}  // namespace stowage::allocator
