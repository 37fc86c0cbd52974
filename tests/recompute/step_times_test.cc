// Op times over several logged iterations: which iterations count, and what stays where nothing was measured.
#include "recompute/schedule/step_times.h"

#include <gtest/gtest.h>

#include <map>

namespace stowage::recompute {
namespace {

/// Says of each op what the test put there by number.
class TableTimer final : public OpTimer {
 public:
  TableTimer(std::uint32_t iterations, std::map<std::uint32_t, std::uint64_t>& table)
      : iterations_(iterations), table_(table) {}
  [[nodiscard]] std::uint32_t iterations() const override { return iterations_; }
  TimedOp start() noexcept override {
    const std::uint64_t before = started_++;
    return {nullptr, started_, before};
  }
  void stop(const TimedOp& started, std::uint32_t op) noexcept override {
    ops_[started.id] = op;
    if (op == kNoOp.value()) table_[op] = started.parent;
  }
  std::vector<Time> read() noexcept override {
    std::vector<Time> times;
    for (const auto& [id, op] : ops_)
      if (table_.count(op) != 0) times.push_back({op, table_[op], TimeSource::kCupti});
    return times;
  }

 private:
  const std::uint32_t iterations_;
  std::map<std::uint32_t, std::uint64_t>& table_;
  std::uint64_t started_ = 0;
  std::map<std::uint64_t, std::uint32_t> ops_;
};

StepLog log_of(std::vector<std::uint64_t> shapes) {
  StepLog log;
  log.shape_hashes = std::move(shapes);
  log.trace.ops.resize(log.shape_hashes.size());
  for (Op& op : log.trace.ops) {
    op.duration_ns = 5'000;
    op.timed_by = TimeSource::kModel;
  }
  return log;
}

class StepTimesTest : public ::testing::Test {
 protected:
  /// An iteration of two ops with these times.
  void run(std::uint64_t first_ns, std::uint64_t second_ns, const StepLog& log) {
    times.begin_iteration();
    for (std::uint32_t op = 0; op < 2; ++op) {
      table[next++] = op == 0 ? first_ns : second_ns;
      times.stop(times.start(), op);
    }
    times.end_iteration(log);
  }
  std::map<std::uint32_t, std::uint64_t> table;
  std::uint32_t next = 0;
  StepTimes times{std::make_unique<TableTimer>(4, table)};
};

TEST_F(StepTimesTest, AnOpHasItsMedianWithoutTheFirstIteration) {
  StepLog log = log_of({1, 2});
  EXPECT_EQ(times.iterations(), 4u);
  run(900, 900, log);
  EXPECT_GT(times.to_come(), 0u);
  run(10, 70, log);
  run(30, 50, log);
  run(20, 60, log);
  EXPECT_EQ(times.to_come(), 0u);
  times.put_into(log);
  EXPECT_EQ(log.trace.ops[0].duration_ns, 20u);
  EXPECT_EQ(log.trace.ops[1].duration_ns, 60u);
  EXPECT_EQ(log.trace.ops[1].timed_by, TimeSource::kCupti);
}

TEST_F(StepTimesTest, IterationsOfOtherOpsDoNotCount) {
  StepLog log = log_of({1, 2});
  run(900, 900, log);
  run(10, 10, log_of({1, 3}));
  run(500, 500, log_of({7, 2}));
  run(20, 60, log);
  times.put_into(log);
  EXPECT_EQ(log.trace.ops[0].duration_ns, 20u);
}

TEST_F(StepTimesTest, WhatWasNotMeasuredKeepsItsModelledTime) {
  StepLog log = log_of({1, 2});
  for (int i = 0; i < 4; ++i) run(10, 10, log);
  for (std::uint32_t op = 1; op < 8; op += 2) table.erase(op);
  times.put_into(log);
  EXPECT_EQ(log.trace.ops[0].duration_ns, 10u);
  EXPECT_EQ(log.trace.ops[1].duration_ns, 5'000u);
  EXPECT_EQ(log.trace.ops[1].timed_by, TimeSource::kModel);
}

TEST(StepTimes, ASingleIterationCounts) {
  std::map<std::uint32_t, std::uint64_t> table{{0, 42}};
  StepTimes times(std::make_unique<TableTimer>(1, table));
  StepLog log = log_of({1});
  times.begin_iteration();
  times.stop(times.start(), 0);
  times.end_iteration(log);
  EXPECT_EQ(times.to_come(), 0u);
  times.put_into(log);
  EXPECT_EQ(log.trace.ops[0].duration_ns, 42u);
}

TEST(StepTimes, WhatIsAsideIsNeitherAnOpNorPartOfOne) {
  std::map<std::uint32_t, std::uint64_t> table{{0, 42}, {1, 43}};
  StepTimes times(std::make_unique<TableTimer>(1, table));
  StepLog log = log_of({1, 2});
  times.begin_iteration();
  const TimedOp first = times.start();
  times.stop_aside(times.start());
  times.stop(first, 0);
  times.stop(times.start(), 1);
  times.end_iteration(log);
  ASSERT_TRUE(table.contains(kNoOp.value()));
  EXPECT_EQ(table[kNoOp.value()], 0u) << "no op is around it";
  times.put_into(log);
  EXPECT_EQ(log.trace.ops[0].duration_ns, 42u);
  EXPECT_EQ(log.trace.ops[1].duration_ns, 43u);
}

TEST(StepTimes, WithoutATimerOneIterationIsLoggedAndKeepsItsTimes) {
  StepTimes times(nullptr);
  EXPECT_EQ(times.iterations(), 1u);
  StepLog log = log_of({1});
  times.begin_iteration();
  times.stop(times.start(), 0);
  times.end_iteration(log);
  times.put_into(log);
  EXPECT_EQ(log.trace.ops[0].duration_ns, 5'000u);
}

}  // namespace
}  // namespace stowage::recompute
