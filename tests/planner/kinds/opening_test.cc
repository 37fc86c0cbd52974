#include "planner/kinds/opening.h"

#include <gtest/gtest.h>

#include "planner/joint_planner.h"
#include "tests/planner/trace_builder.h"

namespace stowage::planner {
namespace {

/// A parameter is made in the first iteration, optimizer state in the second; both last. Each iteration frees
/// the gradient of the one before.
Trace training(int iterations) {
  TraceBuilder job;
  job.alloc(4096);
  std::uint32_t gradient = 0;
  for (int i = 0; i < iterations; ++i) {
    if (i > 0) job.free(gradient);
    const std::uint32_t activation = job.alloc(2048);
    gradient = job.alloc(1024);
    job.free(activation);
    if (i == 1) job.alloc(8192);
    job.mark();
  }
  return job.take_unsteady();
}

std::vector<std::uint64_t> fingerprints_of(const Trace& trace) {
  std::vector<std::uint64_t> all;
  Tick begin{0};
  for (const Mark& mark : trace.marks) {
    all.push_back(fingerprint(trace, begin, mark.tick));
    begin = mark.tick;
  }
  return all;
}

struct OpeningTest : testing::Test {
  OpeningTest() : trace(training(6)), all(fingerprints_of(trace)) {
    EXPECT_TRUE(book.observe(trace, [this](std::uint64_t seen) { return seen == all.back(); }));
    opening = find_opening(trace, book);
    EXPECT_TRUE(book.observe(trace, [](std::uint64_t) { return true; }));
  }
  Trace trace;
  std::vector<std::uint64_t> all;
  KindBook book;
  std::optional<Opening> opening;
};

TEST_F(OpeningTest, IsAllBeforeTheFirstKindThatRepeats) {
  ASSERT_TRUE(opening.has_value());
  EXPECT_EQ(opening->own, std::vector<std::uint64_t>(all.begin(), all.begin() + 2));
  EXPECT_EQ(opening->iterations, all);
  EXPECT_EQ(opening->marks, MarkSource::kOptimizer);
}

TEST_F(OpeningTest, IsNoneIfTheJobRepeatsItselfAtOnceOrIsMarkedByItsAllocations) {
  EXPECT_FALSE(find_opening(trace, book).has_value()) << "the book knows all of its kinds";
  KindBook last;
  ASSERT_TRUE(last.observe(trace, [this](std::uint64_t seen) { return seen == all.back(); }));
  trace.marks.front().source = MarkSource::kPeriod;
  EXPECT_FALSE(find_opening(trace, last).has_value());
}

/// The second optimizer steps, and makes its state, only in the fourth iteration.
Trace adversaries(int iterations) {
  TraceBuilder job;
  job.alloc(4096);
  for (int i = 0; i < iterations; ++i) {
    const std::uint32_t activation = job.alloc(i % 3 == 0 ? 4096 : 2048);
    job.free(activation);
    if (i == 0) job.alloc(8192);
    if (i == 3) job.alloc(16384);
    job.mark();
  }
  return job.take_unsteady();
}

TEST_F(OpeningTest, WhatRepeatsMayComeBetweenItsOwnIterations) {
  const Trace job = adversaries(10);
  const std::vector<std::uint64_t> seen = fingerprints_of(job);
  KindBook kinds;
  ASSERT_TRUE(kinds.observe(job, [&](std::uint64_t of) { return of == seen[4] || of == seen[6]; }));
  const std::optional<Opening> found = find_opening(job, kinds);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->own, (std::vector<std::uint64_t>{seen[0], seen[3]}));
  EXPECT_EQ(found->iterations, seen);
  ASSERT_TRUE(kinds.observe(job, [](std::uint64_t) { return true; }));
  const NextKinds next = with_opening_last(kinds.kinds(), *found);
  const Result<JointPlan> made = make_plans(next.kinds, {});
  ASSERT_TRUE(made.ok());
  const JointPlan plans = begin_with_opening(*made, next, Bytes(4096));
  EXPECT_EQ(plans.history, (std::vector<std::uint32_t>{0, 2, 2, 1, 2, 2, 3, 2, 2, 3}));
  EXPECT_EQ(opening_length(plans.history, plans.opening), 4u);
  EXPECT_EQ(lasting_bytes(plans), Bytes(4096 + 8192 + 16384));
}

TEST_F(OpeningTest, WhatLastsHasPlacesOfItsOwnOnTopOfAllOthers) {
  const NextKinds next = with_opening_last(book.kinds(), *opening);
  ASSERT_EQ(next.kinds.kinds.size(), 3u);
  EXPECT_EQ(next.kinds.history, (std::vector<std::uint32_t>{1, 2, 0, 0, 0, 0}));
  const Result<JointPlan> made = make_plans(next.kinds, {});
  ASSERT_TRUE(made.ok());
  const JointPlan plans = begin_with_opening(*made, next, Bytes(3072));
  EXPECT_EQ(plans.opening, 2u);
  EXPECT_EQ(plans.plans[0].fingerprint, all[0]);
  EXPECT_EQ(plans.plans[2].fingerprint, all[2]);
  EXPECT_EQ(plans.history, (std::vector<std::uint32_t>{0, 1, 2, 2, 2, 2}));
  EXPECT_EQ(opening_length(plans.history, plans.opening), 2u);
  EXPECT_EQ(lasting_bytes(plans), Bytes(4096 + 8192));
  EXPECT_EQ(plans.height, Bytes(made->height.value() + 4096 + 8192));
  EXPECT_EQ(plans.lower_bound, Bytes(3072 + 4096 + 8192));
  for (const Plan& plan : plans.plans) EXPECT_TRUE(plan.validate());
  EXPECT_TRUE(plans.plans[0].entries[0].lasts());
  EXPECT_FALSE(plans.plans[0].entries[2].lasts()) << "the gradient is freed in the next iteration";
}

}  // namespace
}  // namespace stowage::planner
