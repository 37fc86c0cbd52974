#include "planner/kinds/kind_book.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "planner/kinds/joint_problem.h"
#include "tests/planner/kinds/automata.h"
#include "tests/planner/trace_builder.h"

namespace stowage::planner {
namespace {

bool all(std::uint64_t) { return true; }

/// Iterations A, B, A, B, … of a job: A leaves a gradient that B frees before its second allocation; B leaves
/// a result that lives until the next B has made its own; A keeps a log that nothing frees.
Trace alternating(int rounds, bool begins_with_mark = true) {
  TraceBuilder job;
  if (begins_with_mark) job.mark();
  std::uint32_t result = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::uint32_t scratch = job.alloc(1024);
    job.free(scratch);
    const std::uint32_t gradient = job.alloc(4096);
    job.alloc(512);  // the log
    job.mark();
    const std::uint32_t first = job.alloc(2048);
    job.free(gradient);
    const std::uint32_t next_result = job.alloc(8192);
    if (i > 0) job.free(result);
    result = next_result;
    job.free(first);
    job.mark();
  }
  return job.take_unsteady();
}

TEST(KindBook, LearnsKindsAndWhatTheyLeaveToEachOther) {
  KindBook book;
  ASSERT_TRUE(book.observe(alternating(4), all));
  const Kinds kinds = book.kinds();
  ASSERT_EQ(kinds.kinds.size(), 2u);
  EXPECT_EQ(kinds.history, (std::vector<std::uint32_t>{0, 1, 0, 1, 0, 1, 0, 1}));
  const std::vector<Allocation>&a = kinds.kinds[0].allocations, &b = kinds.kinds[1].allocations;
  EXPECT_EQ(a[0], (Allocation{Bytes(1024), StreamId(0), 1, false, true, 1, 0, false}));
  EXPECT_EQ(a[1], (Allocation{Bytes(4096), StreamId(0), 3, true, true, 1, 1, false}));
  EXPECT_EQ(a[2], (Allocation{Bytes(512), StreamId(0), 3, true, false, 4, 0, true}));
  EXPECT_EQ(b[1], (Allocation{Bytes(8192), StreamId(0), 2, true, true, 2, 2, false}));
  ASSERT_EQ(kinds.transitions.size(), 2u);
  EXPECT_EQ(kinds.transitions[0].from, 0u);
  EXPECT_EQ(kinds.transitions[0].carried.front(), (Carried{0, 1, 1})) << "freed before B's second allocation";
  EXPECT_EQ(kinds.transitions[1].carried.back(), (Carried{1, 1, 3})) << "lives through A";
}

TEST(KindBook, TwoSlotsAreNotHeldForWhatLivesLongerThanAnIteration) {
  TraceBuilder job;
  std::vector<std::uint32_t> batches;
  for (int i = 0; i < 6; ++i) {
    const std::uint32_t scratch = job.alloc(1024);
    if (i >= 2) job.free(batches[static_cast<std::size_t>(i) - 2]);
    job.free(scratch);
    batches.push_back(job.alloc(4096));  // lives until after the next one was made
    job.mark();
  }
  KindBook book;
  ASSERT_TRUE(book.observe(job.take(Tick(0), Tick(1), job.now()), all));
  const Allocation& batch = book.kinds().kinds[0].allocations[1];
  EXPECT_EQ(batch.at_once, 2u);
  EXPECT_TRUE(batch.spans);
  EXPECT_EQ(class_of(batch), LifeClass::kUpstream);
}

TEST(KindBook, ClassesSayWhereAllocationsMayLie) {
  KindBook book;
  ASSERT_TRUE(book.observe(alternating(4), all));
  const Kinds kinds = book.kinds();
  EXPECT_EQ(class_of(kinds.kinds[0].allocations[0]), LifeClass::kTransient);
  EXPECT_EQ(class_of(kinds.kinds[0].allocations[1]), LifeClass::kCyclic);
  EXPECT_EQ(class_of(kinds.kinds[0].allocations[2]), LifeClass::kUpstream);
  EXPECT_EQ(class_of(kinds.kinds[1].allocations[1]), LifeClass::kTwoSlots);
}

TEST(KindBook, TheSameTraceTwiceChangesNothing) {
  KindBook book;
  const Trace trace = trace_of(run_automaton(7));
  ASSERT_TRUE(book.observe(trace, all));
  const Kinds once = book.kinds();
  ASSERT_TRUE(book.observe(trace, all));
  EXPECT_EQ(book.kinds(), once);
}

TEST(KindBook, TracesAddUp) {
  KindBook book;
  ASSERT_TRUE(book.observe(alternating(1), all));
  EXPECT_FALSE(book.kinds().kinds[1].allocations[1].ended);
  ASSERT_TRUE(book.observe(alternating(3), all));
  EXPECT_TRUE(book.kinds().kinds[1].allocations[1].ended);
  EXPECT_EQ(book.size(), 2u);
}

TEST(KindBook, UnwantedIterationsAreOfNoKind) {
  const Trace trace = alternating(3);
  const std::uint64_t a = fingerprint(trace, trace.marks[0].tick, trace.marks[1].tick);
  KindBook book;
  ASSERT_TRUE(book.observe(trace, [&](std::uint64_t fingerprint) { return fingerprint == a; }));
  EXPECT_TRUE(book.knows(a));
  EXPECT_EQ(book.size(), 1u);
  EXPECT_TRUE(book.kinds().transitions.empty()) << "B lies between";
}

/// Iterations that leave a gradient to the next one, which frees it before its first allocation. Every third
/// one has a first part: an attempt that was cut short, or an evaluation that runs while the gradient lives.
Trace with_first_parts(bool evaluates) {
  TraceBuilder job;
  job.mark();
  std::optional<std::uint32_t> gradient;
  for (int i = 0; i < 9; ++i) {
    if (!evaluates && gradient) job.free(*std::exchange(gradient, std::nullopt));
    if (i % 3 == 2) job.free(job.alloc(1024));
    if (gradient) job.free(*gradient);
    job.free(job.alloc(1024));
    gradient = job.alloc(4096);
    job.mark();
  }
  return job.take_unsteady();
}

TEST(KindBook, AnIterationThatWasBegunAgainIsNoKind) {
  KindBook book;
  ASSERT_TRUE(book.observe(with_first_parts(false), all));
  EXPECT_EQ(book.size(), 1u);
}

TEST(KindBook, AnEvaluationBeforeAnIterationIsAKind) {
  KindBook book;
  ASSERT_TRUE(book.observe(with_first_parts(true), all));
  EXPECT_EQ(book.size(), 2u);
}

TEST(KindBook, NothingIsLearnedFromATraceWithGaps) {
  Trace trace = alternating(3);
  trace.dropped = 1;
  KindBook book;
  EXPECT_EQ(book.observe(trace, all).error().code, ErrorCode::kUnplannable);
  EXPECT_EQ(book.size(), 0u);
}

TEST(KindBook, TheFirstIterationNeedsNoMarkBeforeIt) {
  KindBook with, without;
  ASSERT_TRUE(with.observe(alternating(3), all));
  ASSERT_TRUE(without.observe(alternating(3, /*begins_with_mark=*/false), all));
  EXPECT_EQ(with.kinds(), without.kinds());
}

}  // namespace
}  // namespace stowage::planner
