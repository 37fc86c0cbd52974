#include "planner/kinds/roles.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "planner/kinds/joint_problem.h"
#include "tests/planner/kinds/automata.h"
#include "tests/planner/trace_builder.h"

namespace stowage::planner {
namespace {

constexpr std::uint64_t kBatch = 1 << 20;
constexpr std::uint64_t kActivation = 3 << 20;

/// Python's zip() keeps the tuple that it made first, and with it every second batch until two later ones are
/// there. `long_ones`: iterations of another kind, which allocate once more at their beginning's end.
Trace loop_over_a_zip(int iterations, const std::vector<bool>& long_ones) {
  TraceBuilder job;
  job.mark();
  std::array<std::optional<std::uint32_t>, 2> kept;
  for (int i = 0; i < iterations; ++i) {
    const std::uint32_t batch = job.alloc(kBatch);
    if (i % 2 == 0) {
      for (std::optional<std::uint32_t>& old : kept) {
        if (old) job.free(*old);
      }
      kept = {};
    }
    kept[static_cast<std::size_t>(i % 2)] = batch;
    if (long_ones[static_cast<std::size_t>(i)]) job.free(job.alloc(kActivation / 2));
    job.free(job.alloc(kActivation));
    job.mark();
  }
  return job.take(Tick(0), Tick(1), job.now());
}

LifeClass class_of_batch(const Kind& kind) { return class_of(kind.allocations.front()); }

TEST(Roles, WhatIsUpstreamsInOneKindIsSoInAll) {
  // Of the short ones three come in a row, of the long ones never more than one.
  const Kinds kinds = kinds_of(loop_over_a_zip(
      12, {false, false, false, true, false, false, false, true, false, false, false, false}));
  ASSERT_EQ(kinds.kinds.size(), 2u);
  for (const Kind& kind : kinds.kinds) EXPECT_EQ(class_of_batch(kind), LifeClass::kUpstream);
  EXPECT_EQ(lower_bound(joint_problem(kinds, {true, true}, {}).problem), Bytes(kActivation));
}

TEST(Roles, NothingIsSharedWhereNoKindHasTooMany) {
  const Kinds kinds = kinds_of(
      loop_over_a_zip(12, {false, true, false, true, false, true, false, true, false, true, false, true}));
  ASSERT_EQ(kinds.kinds.size(), 2u);
  for (const Kind& kind : kinds.kinds) EXPECT_NE(class_of_batch(kind), LifeClass::kUpstream);
}

Kind kind_with(const Allocation& first) {
  Kind kind;
  kind.allocations = {first, {Bytes(512), StreamId(0), 2}};
  return kind;
}

TEST(Roles, WhatWasNeverSeenFreedIsNoRole) {
  const Allocation lasts{Bytes(kBatch), StreamId(0), 2, /*crosses=*/true, /*ended=*/false, /*at_once=*/9};
  const Allocation comes_and_goes{Bytes(kBatch), StreamId(0), 2, true, true, 1};
  std::vector<Kind> kinds = {kind_with(lasts), kind_with(comes_and_goes)};
  share_roles(kinds);
  EXPECT_EQ(kinds[1].allocations[0], comes_and_goes);
}

/// `first`, and behind it `requests` of other sizes.
Kind followed(const Allocation& first, const std::vector<std::uint64_t>& requests) {
  Kind kind;
  kind.allocations = {first};
  for (const std::uint64_t bytes : requests) kind.allocations.push_back({Bytes(bytes), StreamId(0), 1});
  return kind;
}

void put_before(Kind& kind, std::uint64_t bytes) {
  kind.allocations.insert(kind.allocations.begin(), {Bytes(bytes), StreamId(0), 1});
}

const Allocation kCrowded{Bytes(kBatch), StreamId(0), 99, /*crosses=*/true, /*ended=*/true, /*at_once=*/3};
const Allocation kAlone{Bytes(kBatch), StreamId(0), 99, true, true, 1};
const Allocation kNotSeenFreed{Bytes(kBatch), StreamId(0), 99, true, false, 1};

TEST(Roles, AKindPassesOnWhatItGotFromAnother) {
  // The second begins as the first, and the third ends as the second.
  std::vector<Kind> kinds = {followed(kAlone, {1024, 4096}), followed(kNotSeenFreed, {1024, 4096}),
                             followed(kCrowded, {1024, 8192})};
  put_before(kinds[0], 512);
  share_roles(kinds);
  EXPECT_EQ(class_of(kinds[0].allocations[1]), LifeClass::kUpstream);
  EXPECT_EQ(class_of(kinds[1].allocations[0]), LifeClass::kUpstream);
}

// A job's first iteration makes the model before the batch, and the optimizer's state behind it.
TEST(Roles, WhatIsFollowedByTheSameRequestsHasTheSameRole) {
  const std::vector<std::uint64_t> forward = {1024, 2048, 1024, 4096, 2048, 1024, 1024, 2048};
  for (const bool whole : {true, false}) {
    std::vector<std::uint64_t> opening = forward;
    if (!whole) opening.back() += 512;
    opening.push_back(8192);
    std::vector<Kind> kinds = {followed(kCrowded, forward), followed(kAlone, opening)};
    kinds[0].allocations.push_back({Bytes(512), StreamId(0), 1});
    put_before(kinds[1], 4096);
    share_roles(kinds);
    EXPECT_EQ(class_of(kinds[1].allocations[1]), whole ? LifeClass::kUpstream : LifeClass::kCyclic);
    EXPECT_TRUE(class_of(kinds[1].allocations[0]) == LifeClass::kTransient);
  }
}

TEST(Roles, WhatDiesInItsIterationStaysInTheArena) {
  const Allocation crowded{Bytes(kBatch), StreamId(0), 2, /*crosses=*/true, /*ended=*/true, /*at_once=*/3};
  const Allocation transient{Bytes(kBatch), StreamId(0), 1, false, true, 1};
  std::vector<Kind> kinds = {kind_with(crowded), kind_with(transient)};
  share_roles(kinds);
  EXPECT_EQ(class_of(kinds[1].allocations[0]), LifeClass::kTransient);
}

}  // namespace
}  // namespace stowage::planner
