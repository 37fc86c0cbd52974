#include "session/plans/plan_book.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "planner/planner.h"
#include "tests/session/plans/scripted_plans.h"
#include "tests/session/recording/recorded_iterations.h"

namespace stowage::session {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kNoWait{0};

Plan numbered(std::uint64_t fingerprint) {
  Plan plan;
  plan.fingerprint = fingerprint;
  return plan;
}

struct PlanBookTest : testing::Test, RecordedIterations {
  Asked asked;
  PlanBook book{settings, info, std::make_unique<ScriptedPlans>(asked)};
};

/// Iterations of two kinds that take turns, and one that never comes again.
Trace two_kinds(RecordedIterations& job) {
  job.recording.start(true);
  job.iterate({7000});
  for (int i = 0; i < 4; ++i) {
    job.iterate({1000, 2000});
    job.iterate({3000});
  }
  return job.recording.recorder().snapshot(tracer::Extent::kAll);
}

TEST_F(PlanBookTest, TheFirstPlansAreOfAllKindsThatComeAgain) {
  ASSERT_TRUE(book.make_first(two_kinds(*this)));
  EXPECT_GT(asked.options.good_enough, 0);
  EXPECT_TRUE(asked.options.in_use.empty());
  ASSERT_EQ(asked.kinds.kinds.size(), 2u);
  EXPECT_EQ(asked.kinds.transitions.size(), 2u);
  for (const planner::Kind& kind : asked.kinds.kinds) EXPECT_TRUE(book.plans(kind.fingerprint));
  EXPECT_FALSE(book.plans(0));
  EXPECT_FALSE(book.makes_anew());
}

TEST_F(PlanBookTest, FurtherKindsArePlannedWithThoseThatAreKnown) {
  ASSERT_TRUE(book.make_first(two_kinds(*this)));
  book.use(joint_of({numbered(1), numbered(2)}));
  for (int i = 0; i < 2; ++i) iterate({9000, 9000});
  ASSERT_TRUE(
      book.learn(recording.recorder().snapshot(tracer::Extent::kAll), [](std::uint64_t) { return true; }));
  const std::vector<planner::Tenant> stay{{Offset(512), Bytes(512), StreamId(0)}};
  ASSERT_TRUE(book.make_anew(stay));
  EXPECT_TRUE(book.makes_anew());
  EXPECT_EQ(asked.kinds.kinds.size(), 4u) << "the one that came first as well";
  EXPECT_EQ(asked.options.in_use.size(), 2u);
  EXPECT_EQ(asked.options.tenants, stay);
  EXPECT_FALSE(book.poll(kNoWait));
  EXPECT_TRUE(book.makes_anew());
  asked.made = joint_of({numbered(3)});
  EXPECT_TRUE(book.poll(kNoWait));
  EXPECT_FALSE(book.makes_anew());
}

TEST_F(PlanBookTest, PlansAnewTakeTheTurnOfLowerOnes) {
  book.use(joint_of({numbered(1)}));
  ASSERT_TRUE(book.make_first(two_kinds(*this)));
  book.make_lower({}, {}, 0, settings.plan_seconds);
  EXPECT_TRUE(book.makes_lower());
  EXPECT_EQ(asked.options.good_enough, 0);
  ASSERT_TRUE(book.make_anew({}));
  EXPECT_TRUE(book.makes_anew());
  EXPECT_FALSE(book.makes_lower());
}

TEST_F(PlanBookTest, WhatCannotBeAskedForIsNotMade) {
  asked.refuses = true;
  EXPECT_FALSE(book.make_first(two_kinds(*this)));
  EXPECT_FALSE(book.make_anew({}));
  book.make_lower({}, {}, 0, settings.plan_seconds);
  EXPECT_FALSE(book.makes_anew() || book.makes_lower());
}

TEST_F(PlanBookTest, NothingIsMadeAfterCancel) {
  ASSERT_TRUE(book.make_anew({}));
  asked.made = joint_of({numbered(3)});
  book.cancel();
  EXPECT_FALSE(book.makes_anew());
  EXPECT_FALSE(book.poll(kNoWait));
}

TEST_F(PlanBookTest, KnowsWhatIterationsPassOn) {
  Plan plan = numbered(1);
  plan.entries = {{Bytes(1024), StreamId(0), Offset(0), kUpstream, /*crosses=*/true},
                  {Bytes(512), StreamId(0), Offset(2048), kUpstream, /*crosses=*/false}};
  book.use(joint_of({plan}));
  EXPECT_EQ(book.crossing_offsets(), std::vector<std::uint64_t>{0});
  EXPECT_EQ(book.outlives(Offset(0), Bytes(1024)), 8u) << "a plan does not say how long";
  EXPECT_EQ(book.outlives(Offset(0), Bytes(512)), 0u) << "another size";
  EXPECT_EQ(book.outlives(Offset(2048), Bytes(512)), 0u);
}

TEST_F(PlanBookTest, KeepsAPlanForTheNextRunUntilItIsForgotten) {
  const fs::path folder = fs::temp_directory_path() / ("stowage-book-" + std::to_string(getpid()));
  fs::remove_all(folder);
  settings.plan_cache = folder.string();
  recording.start(true);
  for (int i = 0; i < 4; ++i) iterate({1000, 2000});
  const Trace trace = recording.recorder().snapshot();
  const std::optional<Window> window = last_window(trace, 1);
  ASSERT_TRUE(window);
  EXPECT_FALSE(book.find_kept(trace));
  Result<Plan> plan = planner::make_plan(trace, {});
  ASSERT_TRUE(plan.ok());
  book.use(joint_of({*plan}));
  book.keep();
  const std::optional<PlanBook::Kept> kept = book.find_kept(trace);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->plans.front().entries, plan->entries);
  EXPECT_EQ(kept->marks, 1u);
  EXPECT_EQ(kept->window.begin, window->begin);
  book.forget_kept();
  EXPECT_FALSE(book.find_kept(trace));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace stowage::session
