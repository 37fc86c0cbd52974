// Small changes to a schedule: what they may find, and what they may not do.
#include "planner/schedule/search/local.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/planner/schedule_logs.h"

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kChanges = 3000;

// The second of two cheap layers leaves too early and comes back twice.
Found clumsy(const OpGraph& graph) {
  Found found;
  for (std::uint32_t op = 4; op < 8; ++op) {
    found.steps.push_back({op, ActionKind::kEvict, 2});
    found.steps.push_back({op, ActionKind::kRematerialize, 2});
  }
  found.outcome = play(graph, found.steps);
  return found;
}

TEST(Local, DropsWhatNothingNeeds) {
  const StepLog log = chain(6, 4);
  const OpGraph graph = *make_op_graph(log);
  const Found found = clumsy(graph);
  ASSERT_EQ(found.outcome.refused, 0u);
  ASSERT_GT(found.outcome.replay_ns, 0u);
  const Found improved = improve(graph, found.outcome.peak, found, kChanges, 1, {});
  EXPECT_EQ(improved.outcome.replay_ns, 0u);
  EXPECT_EQ(improved.outcome.refused, 0u);
}

TEST(Local, IsWithinTheBudgetAndNeverDearer) {
  std::uint64_t better = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const StepLog log = random_log(seed, 8 + seed % 8);
    const OpGraph graph = *make_op_graph(log);
    Found found;
    found.outcome = play(graph, found.steps);
    const std::uint64_t budget = found.outcome.peak;
    for (std::uint32_t buffer = 0; buffer < graph.buffers.size(); ++buffer) {
      Found more = found;
      if (graph.touched[buffer].empty()) continue;
      more.steps.insert(more.steps.begin(), {graph.touched[buffer].front() + 1, ActionKind::kEvict, buffer});
      std::ranges::stable_sort(more.steps, {}, &Step::op);
      if (more.steps.back().op >= graph.ops.size()) continue;
      more.outcome = play(graph, more.steps);
      if (more.outcome.refused == 0 && more.outcome.peak <= budget) found = more;
    }
    const Found improved = improve(graph, budget, found, kChanges, seed, {});
    EXPECT_LE(improved.outcome.peak, budget) << seed;
    EXPECT_LE(improved.outcome.added_ns(), found.outcome.added_ns()) << seed;
    EXPECT_EQ(improved.outcome.refused, 0u) << seed;
    EXPECT_EQ(play(graph, improved.steps).added_ns(), improved.outcome.added_ns()) << seed;
    better += improved.outcome.added_ns() < found.outcome.added_ns() ? 1 : 0;
  }
  EXPECT_GT(better, 10u);
}

TEST(Local, IsTheSameForASeed) {
  const StepLog log = chain(6, 4);
  const OpGraph graph = *make_op_graph(log);
  const Found found = clumsy(graph);
  const Found one = improve(graph, found.outcome.peak, found, 200, 7, {});
  const Found other = improve(graph, found.outcome.peak, found, 200, 7, {});
  ASSERT_EQ(one.steps.size(), other.steps.size());
  for (std::size_t i = 0; i < one.steps.size(); ++i) {
    EXPECT_EQ(one.steps[i].op, other.steps[i].op);
    EXPECT_EQ(one.steps[i].buffer, other.steps[i].buffer);
  }
}

}  // namespace
}  // namespace stowage::planner::schedule
