#include "session/planned/arena_exchange.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "session/ports/heap_margin.h"
#include "tests/session/planned/planned_job.h"

namespace stowage::session {
namespace {

using Outcome = ArenaExchange::Outcome;

struct ArenaExchangeTest : testing::Test, PlannedJob {
  ArenaExchangeTest() {
    guard.most();
    follow(plan_of(3));
  }
  Outcome iterate() {
    request_all({kBlock, kBlock, kBlock});
    arena->allocator().on_mark();
    const bool clean = arena->allocator().counts().last_iteration_misses == 0;
    return exchange.on_iteration(clean, arena->committed_bytes());
  }
  /// A tensor stays in the first one's place; the outcome of the last iteration before patience ends.
  Outcome outstay() {
    stays = request();
    arena->allocator().on_mark();
    for (std::uint64_t i = 1; i < OutstayedWatch::kPatience; ++i) EXPECT_EQ(iterate(), Outcome::kNone) << i;
    return iterate();
  }

  void* stays = nullptr;
  ArenaExchange exchange{port, *budget, *arena, plans, guard, room, facts};
};

TEST_F(ArenaExchangeTest, ThePlanMovesAndTheTensorStays) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(iterate(), Outcome::kNone);
  allocator::PlannedAllocator* const old = &arena->allocator();
  ASSERT_EQ(outstay(), Outcome::kExchanged);
  EXPECT_EQ(hot.serving.load(), nullptr) << "until resume()";
  exchange.restart();
  exchange.resume();
  EXPECT_EQ(arena->owner_of(stays), old);
  EXPECT_NE(&arena->allocator(), old);
  EXPECT_EQ(facts.all().earlier.iterations, 20u + 1 + OutstayedWatch::kPatience);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(iterate(), Outcome::kNone);
  EXPECT_EQ(arena->allocator().counts().last_iteration_misses, 0u);
}

TEST_F(ArenaExchangeTest, ThereIsNoneWhereWhatTheTensorPinsIsMoreThanTheJobNeeds) {
  void* const outside = port.allocate(Bytes(101 * kMib));
  guard.most();
  EXPECT_EQ(outstay(), Outcome::kNone);
  EXPECT_NE(hot.serving.load(), nullptr);
  port.give_back(outside);
}

TEST_F(ArenaExchangeTest, ThereIsNoneInsideACapture) {
  for (int i = 0; i < 3; ++i) iterate();
  port.capturing = true;
  EXPECT_EQ(outstay(), Outcome::kNone);
}

TEST_F(ArenaExchangeTest, ThereIsNoneWhileAPlanIsMade) {
  ASSERT_TRUE(plans.make_anew({}));
  EXPECT_EQ(outstay(), Outcome::kNone);
}

TEST_F(ArenaExchangeTest, UnderABudgetThereIsNoneOfMemoryThatIsCommittedInPages) {
  BudgetController held(*Budget::parse("1GiB"), &port.count, no_torch(), Device{}, Bytes(0),
                        std::chrono::milliseconds(0));
  ASSERT_TRUE(held.on());
  ArenaExchange under_budget(port, held, *arena, plans, guard, room, facts);
  request();
  for (std::uint64_t i = 0; i < 4 * OutstayedWatch::kPatience; ++i) {
    arena->allocator().on_mark();
    request_all({kBlock, kBlock, kBlock});
    EXPECT_EQ(under_budget.on_iteration(false, Bytes(0)), Outcome::kNone);
  }
  EXPECT_GE(arena->allocator().counts().misses[static_cast<std::size_t>(allocator::Miss::kSlotInUse)],
            2 * OutstayedWatch::kPatience);
}

struct ArenaExchangeUnderABudget : testing::Test, PlannedJob {
  /// A tensor stays in the first one's place under a budget of so many blocks.
  Outcome outstay(std::uint64_t blocks, std::uint64_t iterations = ArenaExchange::kPatienceUnderBudget) {
    limit(blocks * kBlock);
    exchange.emplace(port, *budget, *arena, plans, guard, room, facts);
    follow(plan_of(30));
    static_cast<void>(request());
    return go_on(iterations);
  }
  Outcome go_on(std::uint64_t iterations) {
    Outcome outcome = Outcome::kNone;
    for (std::uint64_t i = 0; i < iterations && outcome == Outcome::kNone; ++i) {
      arena->allocator().on_mark();
      request_all(std::vector<std::uint64_t>(30, kBlock));
      outcome = exchange->on_iteration(false, Bytes(0));
    }
    return outcome;
  }
  std::optional<ArenaExchange> exchange;
};

TEST_F(ArenaExchangeUnderABudget, ThePlanMovesWhereOnlyPagesOfTheTensorStay) {
  ASSERT_EQ(outstay(33), Outcome::kExchanged);
  exchange->resume();
  EXPECT_EQ(port.count.held(), Bytes(31 * kBlock));
}

TEST_F(ArenaExchangeUnderABudget, PlansAroundTheTensorComeFirstIfTheyAreThereInTime) {
  ASSERT_TRUE(plans.make_anew({}));
  ASSERT_EQ(outstay(33, ArenaExchange::kPatienceUnderBudget + ArenaExchange::kWaitUnderBudget - 1),
            Outcome::kNone);
  EXPECT_TRUE(plans.makes_anew());
  ASSERT_EQ(go_on(1), Outcome::kExchanged);
  EXPECT_FALSE(plans.makes_anew());
}

TEST_F(ArenaExchangeUnderABudget, PlansAroundTheTensorAreAwaitedWhereThereIsNoRoomForAnotherArena) {
  ASSERT_TRUE(plans.make_anew({}));
  EXPECT_EQ(outstay(30, 20), Outcome::kNone);
  EXPECT_TRUE(plans.makes_anew());
}

TEST_F(ArenaExchangeUnderABudget, ElseItTellsWhatIsMissing) {
  ASSERT_EQ(outstay(30), Outcome::kTooLarge);
  EXPECT_EQ(exchange->excess(), Bytes(kBlock) + heap_margin(Bytes(30 * kBlock)));
  EXPECT_NE(hot.serving.load(), nullptr);
}

TEST_F(ArenaExchangeTest, WithoutMemoryForAnotherArenaItFails) {
  port.no_memory = true;
  EXPECT_EQ(outstay(), Outcome::kFailed);
}

}  // namespace
}  // namespace stowage::session
