#include "allocator/planned_allocator.h"

#include <gtest/gtest.h>

#include "allocator/arena/fault_backend.h"
#include "tests/allocator/job_runner.h"

namespace stowage::allocator::testing {
namespace {

constexpr StreamId kStream{0};

PlanEntry entry(std::uint64_t bytes, Offset offset, Offset spare = kUpstream) {
  return {Bytes(bytes), kStream, offset, spare};
}

Plan plan_of(std::vector<PlanEntry> entries) {
  Plan plan;
  for (const PlanEntry& each : entries) {
    for (const Offset offset : {each.offset, each.spare}) {
      if (offset != kUpstream)
        plan.height = std::max(plan.height, Bytes(offset.value() + each.rounded.value()));
    }
  }
  plan.entries = std::move(entries);
  return plan;
}

std::uint64_t offset_of(const PlannedAllocator& allocator, const void* address) {
  return static_cast<std::uint64_t>(static_cast<const char*>(address) -
                                    static_cast<const char*>(allocator.arena().base()));
}

TEST(PlannedAllocator, ServesThePlansOffsets) {
  auto a = make_allocator({plan_of({entry(1024, Offset(512)), entry(512, Offset(0))})});
  for (int iteration = 0; iteration < 3; ++iteration) {
    void* const first = a.allocate(Bytes(1024), kStream);
    void* const second = a.allocate(Bytes(512), kStream);
    EXPECT_EQ(offset_of(a, first), 512u);
    EXPECT_EQ(offset_of(a, second), 0u);
    EXPECT_TRUE(a.owns(first) && a.owns(second));
    EXPECT_EQ(a.size_of(first), Bytes(1024));
    EXPECT_EQ(a.live_bytes(), Bytes(1536));
    a.free(first);
    a.free(second);
    a.on_mark();
  }
  EXPECT_EQ(a.counts().hits, 6u);
  EXPECT_EQ(a.counts().iterations, 3u);
  EXPECT_EQ(a.counts().clean_iterations, 3u);
  EXPECT_EQ(a.live_bytes(), Bytes(0));
}

TEST(PlannedAllocator, CountsBlocksFromAllocationToFreeWithTheirRequestedBytes) {
  ArenaCounters counters;
  const Plan plan = plan_of({entry(1024, Offset(512)), entry(512, Offset(0))});
  PlannedAllocator a(make_arena(FakeAddressBackend(), plan.height, plan.height).value(), {plan}, &counters);
  void* const first = a.allocate(Bytes(700), kStream);
  EXPECT_EQ(a.allocate(Bytes(4000), kStream), nullptr) << "a miss is not the arena's";
  void* const second = a.allocate(Bytes(512), kStream);
  ArenaUse use = counters.use();
  EXPECT_EQ(use.blocks[0].current, 2);
  EXPECT_EQ(use.requested_bytes[0].current, 1212);
  EXPECT_EQ(use.rounded_bytes[0].current, 1536);
  a.hold(first);
  a.free(first);  // held for another stream: no longer the job's, but not free either
  EXPECT_EQ(counters.use().rounded_bytes[0].current, 512);
  EXPECT_EQ(counters.use().requested_bytes[0].current, 1212) << "of active blocks";
  EXPECT_EQ(a.live_bytes(), Bytes(1536));
  a.release(first);
  a.free(second);
  use = counters.use();
  EXPECT_EQ(use.blocks[0].current, 0);
  EXPECT_EQ(use.requested_bytes[0].current, 0);
  EXPECT_EQ(use.requested_bytes[0].freed, 1212);
  EXPECT_EQ(use.requested_bytes[0].peak, 1212);
}

TEST(PlannedAllocator, OwnsNothingOutsideTheArena) {
  auto a = make_allocator({plan_of({entry(512, Offset(0))})});
  const auto* const base = static_cast<const char*>(a.arena().base());
  EXPECT_TRUE(a.owns(base));
  EXPECT_TRUE(a.owns(base + a.arena().reserved().value() - 1));
  EXPECT_FALSE(a.owns(base - 1));
  EXPECT_FALSE(a.owns(base + a.arena().reserved().value()));
  EXPECT_FALSE(a.owns(nullptr));
}

TEST(PlannedAllocator, EachMissHasItsReason) {
  auto a = make_allocator({plan_of({entry(512, Offset(0)), entry(1024, Offset(0))})});
  EXPECT_EQ(a.allocate(Bytes(2048), kStream), nullptr);
  EXPECT_EQ(a.allocate(Bytes(512), StreamId(3)), nullptr);
  EXPECT_EQ(a.counts().misses[static_cast<std::size_t>(Miss::kUnexpected)], 2u);
  void* const live = a.allocate(Bytes(512), kStream);
  ASSERT_NE(live, nullptr);
  EXPECT_EQ(a.allocate(Bytes(1024), kStream), nullptr) << "its slot overlaps one that is live";
  EXPECT_EQ(a.counts().misses[static_cast<std::size_t>(Miss::kSlotInUse)], 1u);
  EXPECT_EQ(a.allocate(Bytes(4096), kStream), nullptr);
  EXPECT_EQ(a.counts().misses[static_cast<std::size_t>(Miss::kBeyondPlan)], 1u);
  a.on_mark();
  EXPECT_EQ(a.counts().last_iteration_misses, 4u);
  EXPECT_EQ(a.counts().clean_iterations, 0u);
  a.reset_counts();
  EXPECT_EQ(misses(a), 0u);
}

TEST(PlannedAllocator, AnUpstreamEntryIsNoMiss) {
  auto a = make_allocator({plan_of({entry(512, kUpstream), entry(512, Offset(0))})});
  EXPECT_EQ(a.allocate(Bytes(512), kStream), nullptr);
  EXPECT_NE(a.allocate(Bytes(512), kStream), nullptr);
  EXPECT_EQ(a.counts().planned_upstream, 1u);
  EXPECT_EQ(misses(a), 0u);
}

TEST(PlannedAllocator, ABufferThatOverlapsItsSuccessorAlternates) {
  auto a = make_allocator({plan_of({entry(512, Offset(0), Offset(512))})});
  void* previous = nullptr;
  for (std::uint64_t iteration = 0; iteration < 6; ++iteration) {
    void* const now = a.allocate(Bytes(512), kStream);
    ASSERT_NE(now, nullptr);
    EXPECT_EQ(offset_of(a, now), iteration % 2 * 512);
    if (previous != nullptr) a.free(previous);
    previous = now;
    a.on_mark();
  }
  EXPECT_EQ(a.counts().clean_iterations, 6u);
}

TEST(PlannedAllocator, AHeldSlotStaysOccupiedUntilItsLastRelease) {
  auto a = make_allocator({plan_of({entry(512, Offset(0))})});
  void* const first = a.allocate(Bytes(512), kStream);
  a.hold(first);
  a.hold(first);
  a.free(first);
  a.on_mark();
  EXPECT_EQ(a.allocate(Bytes(512), kStream), nullptr);
  a.release(first);
  EXPECT_EQ(a.live_bytes(), Bytes(512));
  a.release(first);
  EXPECT_EQ(a.live_bytes(), Bytes(0));
  a.on_mark();
  EXPECT_EQ(a.allocate(Bytes(512), kStream), first);
  a.hold(first);
  a.release(first);  // before the free: nothing happens yet
  EXPECT_EQ(a.live_bytes(), Bytes(512));
  a.free(first);
  EXPECT_EQ(a.live_bytes(), Bytes(0));
}

TEST(PlannedAllocator, PeakIsOfTheSumWithWhatIsOutside) {
  auto a = make_allocator({plan_of({entry(1024, Offset(0))})});
  void* const slot = a.allocate(Bytes(1024), kStream);
  EXPECT_EQ(a.peak_bytes(), Bytes(1024));
  a.set_outside_bytes(Bytes(5000));
  EXPECT_EQ(a.peak_bytes(), Bytes(6024));
  a.free(slot);
  a.set_outside_bytes(Bytes(5500));
  EXPECT_EQ(a.peak_bytes(), Bytes(6024));
  a.reset_peak();
  EXPECT_EQ(a.peak_bytes(), Bytes(5500));
}

TEST(PlannedAllocatorDeathTest, ADoubleFreeEndsTheProcess) {
  auto a = make_allocator({plan_of({entry(512, Offset(0))})});
  void* const slot = a.allocate(Bytes(512), kStream);
  a.free(slot);
  EXPECT_DEATH(a.free(slot), "freed twice");
  EXPECT_DEATH(a.release(slot), "not live");
}

TEST(PlannedAllocator, TellsEveryBlockUntilNoStreamUsesIt) {
  auto a = make_allocator({plan_of({entry(1024, Offset(512)), entry(512, Offset(0))})});
  void* const first = a.allocate(Bytes(700), kStream);
  void* const second = a.allocate(Bytes(512), kStream);
  const std::vector<ArenaBlock> expected{{Offset(0), Bytes(512), Bytes(512), kStream},
                                         {Offset(512), Bytes(1024), Bytes(700), kStream}};
  EXPECT_EQ(a.active_blocks(), expected);
  EXPECT_EQ(a.block_at(first), expected[1]);
  EXPECT_EQ(a.block_at(static_cast<char*>(first) + 512), std::nullopt) << "no block begins there";
  a.hold(first);
  a.free(first);
  EXPECT_EQ(a.block_at(first), std::nullopt) << "freed, though a stream still uses it";
  EXPECT_TRUE(a.active_blocks()[1].waiting && !a.active_blocks()[0].waiting);
  a.release(first);
  EXPECT_EQ(a.active_blocks(), std::vector{expected[0]});
  a.free(second);
  EXPECT_TRUE(a.active_blocks().empty());
}

TEST(PlannedAllocator, ABadFreeIsRefusedAndChangesNothing) {
  auto a = make_allocator({plan_of({entry(1024, Offset(512)), entry(512, Offset(0))})});
  char* const first = static_cast<char*>(a.allocate(Bytes(1024), kStream));
  EXPECT_FALSE(a.try_free(first - 512)) << "planned, but not given out";
  EXPECT_FALSE(a.try_free(first + 512)) << "inside a block";
  EXPECT_FALSE(a.try_free(first - 513)) << "below the arena";
  a.hold(first);
  EXPECT_TRUE(a.try_free(first));
  EXPECT_FALSE(a.try_free(first)) << "freed, and held by a stream";
  a.release(first);
  EXPECT_FALSE(a.try_free(first)) << "freed";
  EXPECT_EQ(a.live_bytes(), Bytes(0));
}

TEST(PlannedAllocator, APlanThatIsAddedServesToo) {
  auto a = make_allocator({plan_of({entry(512, Offset(0)), entry(1024, Offset(512))})});
  void* const old = a.allocate(Bytes(512), kStream);
  ASSERT_TRUE(a.add_plan(plan_of({entry(4096, Offset(8192)), entry(512, Offset(0))})).ok());
  EXPECT_EQ(a.plan_count(), 2u);
  EXPECT_NE(a.allocate(Bytes(1024), kStream), nullptr) << "the iteration goes on as it was";
  a.on_mark();
  EXPECT_NE(a.allocate(Bytes(4096), kStream), nullptr);
  EXPECT_EQ(a.allocate(Bytes(512), kStream), nullptr)
      << "what was live before the plan came is still in its way";
  a.free(old);
}

TEST(PlannedAllocator, ReplacedPlansLeaveLiveSlotsAlone) {
  auto a = make_allocator({plan_of({entry(1024, Offset(512))})});
  void* const old = a.allocate(Bytes(1024), kStream);
  ASSERT_TRUE(
      a.replace_plans({plan_of({entry(512, Offset(0)), entry(512, Offset(1024)), entry(512, Offset(512))})})
          .ok());
  EXPECT_EQ(a.size_of(old), Bytes(1024));
  EXPECT_NE(a.allocate(Bytes(512), kStream), nullptr);
  EXPECT_EQ(a.allocate(Bytes(512), kStream), nullptr);
  a.free(old);
  EXPECT_NE(a.allocate(Bytes(512), kStream), nullptr);
  EXPECT_EQ(misses(a), 1u);
}

TEST(PlannedAllocator, WithNoPlanEverythingIsUpstreams) {
  auto a = make_allocator({});
  EXPECT_EQ(a.allocate(Bytes(512), kStream), nullptr);
  a.on_mark();
  EXPECT_TRUE(a.add_plan(plan_of({entry(512, Offset(0))})).ok());
  EXPECT_NE(a.allocate(Bytes(512), kStream), nullptr);
}

TEST(PlannedAllocator, ABadPlanChangesNothing) {
  auto a = make_allocator({plan_of({entry(512, Offset(0))})});
  Plan bad = plan_of({entry(512, Offset(0))});
  bad.height = Bytes(0);
  for (const Status& status : {a.add_plan(bad), a.replace_plans({bad})}) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidPlan);
  }
  const Status high = a.add_plan(plan_of({entry(512, Offset(std::uint64_t{1} << 50))}));
  ASSERT_FALSE(high.ok());
  EXPECT_EQ(high.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(a.plan_count(), 1u);
  EXPECT_NE(a.allocate(Bytes(512), kStream), nullptr);
}

TEST(PlannedAllocator, ADeviceThatIsFullLeavesPlansAndSlotsAsTheyWere) {
  const auto faults = std::make_shared<FaultSwitch>();
  faults->map_limit = Bytes(2u << 20);
  auto arena = make_arena(FaultBackend(FakeAddressBackend(), faults), Bytes(64u << 20), Bytes(0));
  ASSERT_TRUE(arena.ok());
  const Plan tall = plan_of({entry(512, Offset(0)), entry(512, Offset(4u << 20))});
  PlannedAllocator a(std::move(*arena), {tall});
  EXPECT_EQ(a.allocate(Bytes(512), kStream), nullptr) << "nothing is mapped";
  EXPECT_EQ(a.counts().misses[static_cast<std::size_t>(Miss::kSlotInUse)], 1u);
  const Status refused = a.replace_plans({tall});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_TRUE(a.replace_plans({plan_of({entry(512, Offset(0))})}).ok());
  EXPECT_NE(a.allocate(Bytes(512), kStream), nullptr);
}

}  // namespace
}  // namespace stowage::allocator::testing
