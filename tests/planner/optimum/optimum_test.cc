// How far schedules are from the optimum, on iterations so small that it can be known.
#include "tests/planner/optimum/optimum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "core/support/mix.h"
#include "planner/schedule/model/play.h"
#include "planner/schedule/proofs/overhead_bound.h"
#include "planner/schedule/scheduler.h"
#include "tests/planner/schedule_logs.h"

namespace stowage::planner::schedule {
namespace {

// Layers of any sizes and costs, each made from the one before and maybe from an earlier one, and back: each
// gradient reads what its layer read and, of two in three, what it made.
StepLog layers_with_skips(std::uint64_t seed, std::uint32_t layers) {
  SplitMix lots(seed);
  const auto below = [&](std::uint64_t n) { return lots.next() % n; };
  LogBuilder log;
  std::vector<std::uint32_t> made{log.before(1 + below(4))};
  std::vector<std::vector<std::uint32_t>> tape;
  for (std::uint32_t i = 0; i < layers; ++i) {
    std::vector<std::uint32_t> reads{made.back()};
    if (i > 1 && below(3) == 0) reads.push_back(made[1 + below(made.size() - 2)]);
    made.push_back(log.op(reads, 1 + below(8), 1 + below(100)));
    if (below(3) != 0) reads.push_back(made.back());
    tape.push_back(reads);
  }
  std::uint32_t gradient = log.op({made.back()}, 1 + below(4));
  for (std::uint32_t i = layers; i-- > 0;) {
    std::vector<std::uint32_t> reads = tape[i];
    reads.push_back(gradient);
    const std::uint32_t next = log.op(reads, 1 + below(4), 1 + below(200));
    log.free(gradient);
    log.free(made[i + 1]);  // the layers that read it are behind it, and done
    gradient = next;
  }
  log.free(gradient);
  return log.build();
}

ScheduleOptions options() {
  ScheduleOptions options;
  options.smallest = Bytes(0);
  options.placed = false;
  return options;
}

TEST(Optimum, IsNothingWhereNothingHasToGo) {
  const StepLog log = chain(5, 4);
  const OpGraph graph = *make_op_graph(log);
  const std::uint64_t peak = play(graph, {}).peak;
  EXPECT_EQ(optimal_replay_ns(graph, peak), 0u);
  EXPECT_GT(optimal_replay_ns(graph, peak - 1).value_or(0), 0u);
  EXPECT_EQ(optimal_replay_ns(graph, 1), std::nullopt);
}

// With room for two layers beside the input: 6 and 5 are there at the end, 4 takes four ops and leaves 3, and
// 2 takes two and leaves 1.
TEST(Optimum, OfAChainInTheLeastMemory) {
  LogBuilder log;
  constexpr std::uint32_t kLayers = 6;
  std::vector<std::uint32_t> made{log.before(1)};
  for (std::uint32_t i = 0; i < kLayers; ++i) made.push_back(log.op({made.back()}, 1, 1));
  for (std::uint32_t i = kLayers; i > 0; --i) {
    log.op(std::vector<LogBuilder::Input>{{made[i]}}, {}, {});
    log.free(made[i]);
  }
  const OpGraph graph = *make_op_graph(log.build());
  EXPECT_EQ(optimal_replay_ns(graph, 3 * kGranule.value()), (4 + 2) * 1000u);
}

struct Sums {
  int cases = 0, exact = 0, missed = 0;
  double worst = 0, ops = 0, optimum = 0, found = 0;
};

// One job at one budget. Nothing that the scheduler finds may be better than the optimum, and with 5 % more
// it finds something where there is a schedule.
void compare(const StepLog& log, const OpGraph& graph, std::uint64_t budget, Sums& sums) {
  const auto least = optimal_replay_ns(graph, budget);
  const Result<Schedule> found = make_schedule(log, Bytes(budget), options());
  if (!least) {
    EXPECT_FALSE(found.ok());
    return;
  }
  EXPECT_LE(least_added_ns(make_gaps(graph, 0), budget, *least), *least) << "the bound";
  ++sums.cases;
  if (!found.ok()) {
    ++sums.missed;
    EXPECT_TRUE(make_schedule(log, Bytes(budget + budget / 20), options()).ok()) << budget;
    return;
  }
  ASSERT_GE(found->replay_ns, *least);
  const auto all = static_cast<double>(ops_ns(log));
  const double excess = static_cast<double>(found->replay_ns - *least) / (all + static_cast<double>(*least));
  sums.exact += found->replay_ns == *least ? 1 : 0;
  sums.worst = std::max(sums.worst, excess);
  sums.ops += all;
  sums.optimum += static_cast<double>(*least);
  sums.found += static_cast<double>(found->replay_ns);
}

TEST(Optimum, SchedulesOfSmallIterationsComeCloseToIt) {
  Sums sums;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const StepLog log = layers_with_skips(seed, 3 + seed % 4);
    const OpGraph graph = *make_op_graph(log);
    const std::uint64_t peak = play(graph, {}).peak;
    for (const std::uint64_t percent : {90, 75, 60, 50}) compare(log, graph, peak * percent / 100, sums);
  }
  EXPECT_GT(sums.cases, 750);
  EXPECT_LE(sums.missed, sums.cases / 100);
  EXPECT_GE(sums.exact, sums.cases * 9 / 10);
  const double mean = (sums.found - sums.optimum) / (sums.ops + sums.optimum);
  EXPECT_LE(mean, 0.03);
  std::printf(
      "%d cases: %d optimal, %d without a schedule; above the optimum by %.2f %% of the time in all, %.1f %% "
      "at worst\n",
      sums.cases, sums.exact, sums.missed, 100 * mean, 100 * sums.worst);
}

}  // namespace
}  // namespace stowage::planner::schedule
