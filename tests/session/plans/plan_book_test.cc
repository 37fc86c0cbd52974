#include "session/plans/plan_book.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

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

TEST_F(PlanBookTest, AFurtherPlanIsMadeBesideThoseInUse) {
  ASSERT_TRUE(book.make_first(Trace()));
  EXPECT_GT(asked.options.good_enough, 0);
  EXPECT_FALSE(book.makes_further());
  book.use_only(numbered(1));
  book.use_beside(numbered(2));
  ASSERT_TRUE(book.make_beside(Trace()));
  EXPECT_TRUE(book.makes_further());
  ASSERT_EQ(asked.options.siblings.size(), 2u);
  EXPECT_EQ(asked.options.siblings[1]->fingerprint, 2u);
  EXPECT_FALSE(book.poll(kNoWait));
  EXPECT_TRUE(book.makes_further());
  asked.made = numbered(3);
  EXPECT_TRUE(book.poll(kNoWait));
  EXPECT_FALSE(book.makes_further());
}

TEST_F(PlanBookTest, OnlyPlansInUseAreSiblings) {
  book.use_only(numbered(1));
  book.use_beside(numbered(2));
  book.use_only(numbered(3));
  EXPECT_EQ(book.count_in_use(), 1u);
  EXPECT_EQ(book.in_use(), std::vector<Plan>{numbered(3)});
  ASSERT_TRUE(book.make_beside(Trace()));
  ASSERT_EQ(asked.options.siblings.size(), 1u);
  EXPECT_EQ(asked.options.siblings[0]->fingerprint, 3u);
}

TEST_F(PlanBookTest, AFurtherPlanTakesTheTurnOfALowerOne) {
  book.use_only(numbered(1));
  book.make_lower(Trace());
  EXPECT_TRUE(book.makes_lower());
  ASSERT_TRUE(book.make_beside(Trace()));
  EXPECT_TRUE(book.makes_further());
  EXPECT_FALSE(book.makes_lower());
}

TEST_F(PlanBookTest, WhatCannotBeAskedForIsNotMade) {
  asked.refuses = true;
  EXPECT_FALSE(book.make_first(Trace()));
  EXPECT_FALSE(book.make_beside(Trace()));
  book.make_lower(Trace());
  EXPECT_FALSE(book.makes_further() || book.makes_lower());
}

TEST_F(PlanBookTest, NothingIsMadeAfterCancel) {
  ASSERT_TRUE(book.make_beside(Trace()));
  asked.made = numbered(3);
  book.cancel();
  EXPECT_FALSE(book.makes_further());
  EXPECT_FALSE(book.poll(kNoWait));
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
  book.use_only(*plan);
  book.keep();
  const std::optional<PlanBook::Kept> kept = book.find_kept(trace);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->plan.entries, plan->entries);
  EXPECT_EQ(kept->marks, 1u);
  EXPECT_EQ(kept->window.begin, window->begin);
  book.forget_kept();
  EXPECT_FALSE(book.find_kept(trace));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace stowage::session
