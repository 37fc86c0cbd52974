#include "planner/kinds/joint_problem.h"

#include <gtest/gtest.h>

#include "planner/kinds/kind_book.h"
#include "planner/lifetimes.h"
#include "tests/planner/kinds/automata.h"
#include "tests/planner/trace_builder.h"
#include "tests/planner/training_traces.h"

namespace stowage::planner {
namespace {

/// The only kind that comes again.
Kinds steady_kind(const Job& job) {
  const Trace trace = training_trace(job, 4);
  const std::uint64_t steady = fingerprint(trace, trace.steady->begin, trace.steady->end);
  KindBook book;
  EXPECT_TRUE(book.observe(trace, [&](std::uint64_t fingerprint) { return fingerprint == steady; }));
  return book.kinds();
}

Bytes most_alive(const Trace& trace, const Kinds& kinds) {
  Trace planned = trace;  // without what lies upstream
  std::size_t window = 0;
  std::uint32_t ordinal = 0;
  for (Buffer& buffer : planned.buffers) {
    while (window + 1 < trace.marks.size() && buffer.birth >= trace.marks[window + 1].tick)
      ++window, ordinal = 0;
    const Kind& kind = kinds.kinds[kinds.history[window]];
    if (class_of(kind.allocations[ordinal++]) == LifeClass::kUpstream) buffer.rounded = Bytes(0);
  }
  return peak_live(planned, Tick(0), trace.end);
}

TEST(JointProblem, OneKindIsTheCyclicProblemOfItsTrace) {
  for (const Job& job : {unet(), gpt2(), random_job(400, 3)}) {
    const Kinds kinds = steady_kind(job);
    ASSERT_EQ(kinds.kinds.size(), 1u) << job.name;
    const JointProblem joint = joint_problem(kinds, {true}, {});
    const Result<Lifetimes> lifetimes = find_lifetimes(training_trace(job, 4));
    ASSERT_TRUE(lifetimes.ok());
    EXPECT_EQ(joint.problem.period, lifetimes->problem.period) << job.name;
    EXPECT_TRUE(joint.problem.gaps.empty());
    EXPECT_EQ(lower_bound(joint.problem), lower_bound(lifetimes->problem)) << job.name;
  }
}

TEST(JointProblem, TheBoundIsNeverBelowWhatWasAliveAtOneTime) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    AutomatonOptions options;
    options.kinds = 1 + static_cast<int>(seed % 5);
    const Trace trace = trace_of(run_automaton(seed, options));
    const Kinds kinds = kinds_of(trace);
    const JointProblem joint = joint_problem(kinds, std::vector<bool>(kinds.kinds.size(), true), {});
    ASSERT_TRUE(check_problem(joint.problem).ok()) << seed;
    EXPECT_GE(lower_bound(joint.problem), most_alive(trace, kinds)) << seed;
  }
}

TEST(JointProblem, KindsThatNeverOverlapNeedNoMoreThanTheLargerOne) {
  TraceBuilder job;
  job.mark();
  for (int i = 0; i < 6; ++i) {
    const std::uint32_t large = job.alloc(1 << 20);
    job.free(large);
    job.mark();
    const std::uint32_t small = job.alloc(1 << 16), smaller = job.alloc(512);
    job.free(small);
    job.free(smaller);
    job.mark();
  }
  const Kinds kinds = kinds_of(job.take(Tick(0), Tick(1), job.now()));
  ASSERT_EQ(kinds.kinds.size(), 2u);
  EXPECT_EQ(lower_bound(joint_problem(kinds, {true, true}, {}).problem), Bytes(1 << 20));
}

TEST(JointProblem, WhatTwoKindsLeaveToAThirdIsNeverCountedTogether) {
  TraceBuilder job;  // A C B C A C …: each of A and B leaves a megabyte to C
  job.mark();
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t own = i % 2 == 0 ? job.alloc(1024) : job.alloc(2048);
    const std::uint32_t left = job.alloc(1 << 20);
    job.free(own);
    job.mark();
    const std::uint32_t first = job.alloc(4096);
    job.free(left);
    job.free(first);
    job.mark();
  }
  const Kinds kinds = kinds_of(job.take(Tick(0), Tick(1), job.now()));
  ASSERT_EQ(kinds.kinds.size(), 3u);
  EXPECT_EQ(lower_bound(joint_problem(kinds, {true, true, true}, {}).problem), Bytes((1 << 20) + 4096));
}

TEST(JointProblem, TenantsAreThereAllTheTime) {
  const Kinds kinds = steady_kind(unet());
  const Bytes alone = lower_bound(joint_problem(kinds, {true}, {}).problem);
  const std::vector<Tenant> tenants{{Offset(0), Bytes(1 << 20), StreamId(0)}};
  const JointProblem joint = joint_problem(kinds, {true}, tenants);
  EXPECT_EQ(joint.problem.items.size(), joint.slots.size() + 1);
  EXPECT_EQ(lower_bound(joint.problem), alone + Bytes(1 << 20));
}

}  // namespace
}  // namespace stowage::planner
