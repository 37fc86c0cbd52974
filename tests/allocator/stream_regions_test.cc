// Memory never passes from one stream to another while the arena lives.
#include "allocator/layout/stream_regions.h"

#include <gtest/gtest.h>

#include "tests/allocator/job_runner.h"

namespace stowage::allocator::testing {
namespace {

struct Place {
  std::uint64_t bytes;
  std::uint32_t stream;
  std::uint64_t offset;
};

Plan plan_of(const std::vector<Place>& places) {
  Plan plan;
  for (const Place& place : places) {
    plan.entries.push_back({Bytes(place.bytes), StreamId(place.stream), Offset(place.offset)});
    plan.height = std::max(plan.height, Bytes(place.offset + place.bytes));
  }
  return plan;
}

TEST(StreamRegions, TwoStreamsOfOnePlanShareNothing) {
  EXPECT_TRUE(StreamRegions().admit({plan_of({{1024, 0, 0}, {512, 0, 512}, {512, 1, 1024}})}).ok());
  const Status shared = StreamRegions().admit({plan_of({{1024, 0, 0}, {512, 1, 512}})});
  ASSERT_FALSE(shared.ok());
  EXPECT_EQ(shared.error().code, ErrorCode::kInvalidPlan);
}

TEST(StreamRegions, EveryWayToOverlapIsFound) {
  for (const Place& other :
       std::vector<Place>{{512, 1, 1024}, {512, 1, 1536}, {2048, 1, 512}, {4096, 1, 0}}) {
    StreamRegions regions;
    ASSERT_TRUE(regions.admit({plan_of({{1024, 0, 1024}, {512, 0, 3072}})}).ok());
    EXPECT_FALSE(regions.admit({plan_of({other})}).ok()) << other.offset;
    EXPECT_TRUE(regions.admit({plan_of({{1024, 1, 2048}, {1024, 1, 0}})}).ok())
        << "refusing changed something";
  }
}

TEST(StreamRegions, ASpareSlotCountsToo) {
  Plan two = plan_of({{512, 0, 0}});
  two.entries[0].spare = Offset(512);
  two.height = Bytes(1024);
  StreamRegions regions;
  ASSERT_TRUE(regions.admit({two}).ok());
  EXPECT_FALSE(regions.admit({plan_of({{512, 1, 512}})}).ok());
}

TEST(StreamRegions, AFurtherPlanDoesNotGiveOneStreamsMemoryToAnother) {
  auto allocator = make_allocator({plan_of({{1024, 0, 0}, {1024, 1, 1024}})});
  const Status added = allocator.add_plan(plan_of({{512, 1, 512}}));
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, ErrorCode::kInvalidPlan);
  EXPECT_EQ(allocator.plan_count(), 1u);
  EXPECT_TRUE(allocator.add_plan(plan_of({{512, 0, 512}, {512, 1, 1024}})).ok());
}

TEST(StreamRegions, APlanThatIsGoneStillCounts) {
  auto allocator = make_allocator({plan_of({{1024, 0, 0}})});
  ASSERT_TRUE(allocator.replace_plans({}).ok());
  EXPECT_FALSE(allocator.replace_plans({plan_of({{1024, 1, 0}})}).ok());
  EXPECT_EQ(allocator.plan_count(), 0u);
  EXPECT_EQ(allocator.allocate(Bytes(1024), StreamId(1)), nullptr);
  EXPECT_TRUE(allocator.replace_plans({plan_of({{1024, 0, 0}})}).ok());
}

}  // namespace
}  // namespace stowage::allocator::testing
