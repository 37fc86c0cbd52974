// Schedules that offload: the model of the runtime against the independent validator, and what copies are
// for.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/support/mix.h"
#include "planner/schedule/check/validator.h"
#include "planner/schedule/proofs/overhead_bound.h"
#include "planner/schedule/received_schedule.h"
#include "planner/schedule/scheduler.h"
#include "tests/planner/agreement.h"
#include "tests/planner/schedule_logs.h"

namespace stowage::planner::schedule {
namespace {

ScheduleOptions options_for_tests() {
  ScheduleOptions options;
  options.smallest = Bytes(0);
  options.work_limit = 50'000'000;
  options.or_unplaced = true;
  return options;
}

StepLog random_log_with_stores(std::uint64_t seed, std::uint32_t ops) {
  StepLog log = random_log(seed, ops);
  SplitMix lots(seed + 7);
  for (std::size_t b = 0; b < log.stays.size(); ++b)
    log.copy_ns.push_back(lots.next() % 3 == 0 ? 0 : 1000 * (1 + lots.next() % 40));
  log.copy_lanes = CopyLanes(seed % 3);
  return log;
}

std::vector<Step> steps_of_all_kinds(const OpGraph& graph, std::uint64_t seed) {
  return random_steps(graph, seed, [&](std::uint32_t b, SplitMix& lots) -> std::optional<ActionKind> {
    if (graph.buffers[b].entry == kNone || lots.next() % 3 != 0) return std::nullopt;
    return ActionKind(lots.next() % 6);
  });
}

TEST(Copies, ModelAgreesWithTheValidatorUnderRandomActions) {
  std::uint64_t replays = 0, copies = 0, begun_away = 0, hidden = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const StepLog log = random_log_with_stores(seed, 4 + seed % 14);
    const Result<OpGraph> graph = make_op_graph(log);
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const std::vector<Step> steps = steps_of_all_kinds(*graph, seed + 77);
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(expect_agreement(log, *graph, steps));
    const Outcome outcome = play(*graph, steps);
    replays += outcome.replays;
    copies += outcome.copies;
    hidden += outcome.copy_ns > outcome.wait_ns ? 1 : 0;
    if (!run_beside_ops(log.copy_lanes)) {
      EXPECT_EQ(outcome.wait_ns, outcome.copy_ns);
    }
    begun_away += left_away(*graph, steps).size();
  }
  EXPECT_GT(replays, 1000u);
  EXPECT_GT(copies, 3000u);
  EXPECT_GT(begun_away, 100u);
  EXPECT_GT(hidden, 300u);
}

TEST(Copies, ModelAgreesWithTheValidatorOnWhatTheStoreHolds) {
  constexpr Bytes kPlenty = Bytes(std::uint64_t{1} << 50u);
  std::uint64_t full = 0, roomy = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    StepLog log = random_log_with_stores(seed, 4 + seed % 14);
    const OpGraph unlimited = *make_op_graph(log);
    const std::vector<Step> steps = steps_of_all_kinds(unlimited, seed + 78);
    for (std::uint64_t granules = 1; granules < 100; granules += 1 + granules / 2) {
      log.store_bytes = Bytes(granules * kGranule.value());
      const bool fits = play(*make_op_graph(log), steps).refused == 0;
      const Result<Verdict> verdict = validate_schedule(log, of_steps(log, unlimited, steps), kPlenty);
      ASSERT_EQ(fits, verdict.ok()) << "seed " << seed << ", " << granules << " granules";
      ++(fits ? roomy : full);
    }
  }
  EXPECT_GT(full, 1000u);
  EXPECT_GT(roomy, 1000u);
}

// All of it is in the store at one time or another, but for what every layer needs.
TEST(Copies, AScheduleStoresNoMoreThanTheStoreHolds) {
  StepLog log = optimized(12, 64, 4, 20);
  const Bytes budget = share_of_peak(log, 0.5);
  const Result<Schedule> free = make_schedule(log, budget, options_for_tests());
  ASSERT_TRUE(free.ok()) << free.error().message;
  std::uint64_t least = 0;
  for (std::uint64_t granules = 48 * 64; granules > 0; granules -= 64) {
    log.store_bytes = Bytes(granules * kGranule.value());
    const Result<Schedule> made = make_schedule(log, budget, options_for_tests());
    if (!made.ok()) {
      EXPECT_NE(made.error().message.find("in the store"), std::string::npos) << made.error().message;
      break;
    }
    least = granules;
    EXPECT_TRUE(validate_schedule(log, *made, budget).ok());
    EXPECT_GE(made->added_ns(), free->bound_ns);
    StepLog smaller = log;
    smaller.store_bytes = Bytes(64 * kGranule.value());
    EXPECT_FALSE(validate_schedule(smaller, *made, budget).ok()) << "the validator counts, too";
  }
  EXPECT_GE(least, 12u * 64) << "half of what is held is somewhere else";
  EXPECT_LE(least, 36u * 64);
}

TEST(Copies, AJobOfParametersFitsIntoAThirdOfItsPeak) {
  const StepLog log = optimized(12, 64, 4, 20);
  StepLog without = log;
  without.copy_ns.clear();
  for (const double share : {0.75, 0.5, 0.33}) {
    const Bytes budget = share_of_peak(log, share);
    EXPECT_FALSE(make_schedule(without, budget, options_for_tests()).ok()) << share;
    const Result<Schedule> made = make_schedule(log, budget, options_for_tests());
    ASSERT_TRUE(made.ok()) << share << made.error().message;
    EXPECT_GT(made->copies, 0u);
    EXPECT_LE(made->peak, budget);
    EXPECT_LE(made->bound_ns, made->added_ns());
    EXPECT_GE(made->bound_ns * 8 / 5, made->added_ns()) << share;
    const Result<Schedule> taken = accept_schedule(log, made->actions, budget);
    ASSERT_TRUE(taken.ok()) << taken.error().message;
    EXPECT_EQ(taken->copies, made->copies);
    EXPECT_EQ(taken->copy_ns, made->copy_ns);
    EXPECT_EQ(taken->lasting, made->lasting);
    EXPECT_EQ(taken->height, made->height);
  }
}

// Forward reads the parameters in one order, backward in the other; the optimizer reads three times as much.
// The states of most layers are used once and stay away; each costs two copies.
TEST(Copies, StatesStayAwayFromOneIterationToTheNext) {
  const StepLog log = optimized(12, 64, 4, 20);
  const OpGraph graph = *make_op_graph(log);
  const Result<Schedule> made = make_schedule(log, share_of_peak(log, 0.5), options_for_tests());
  ASSERT_TRUE(made.ok()) << made.error().message;
  std::vector<Step> steps;
  for (const Action& action : made->actions) {
    const auto home = std::find_if(graph.buffers.begin(), graph.buffers.end(),
                                   [&](const OpGraph::BufferNode& b) { return b.entry == action.entry; });
    steps.push_back({action.op, action.kind, static_cast<std::uint32_t>(home - graph.buffers.begin())});
  }
  const std::vector<std::uint32_t> away = left_away(graph, steps);
  EXPECT_GE(away.size(), 6u);
  for (const std::uint32_t buffer : away) {
    const Action first{ActionKind::kOffload, 0, graph.buffers[buffer].entry};
    EXPECT_NE(std::find(made->actions.begin(), made->actions.end(), first), made->actions.end())
        << "the first iteration that follows it may begin with it in memory";
  }
}

TEST(Copies, WhatIsNeverWrittenIsOnlyCopiedBack) {
  LogBuilder builder;
  const std::uint32_t frozen = builder.before(8);
  const std::uint32_t other = builder.before(8);
  const std::uint32_t a = builder.op({frozen}, 1);
  const std::uint32_t b = builder.op({a}, 8);
  builder.op({b, other}, 1);
  builder.free(b);
  builder.op({{other, ValueRole::kChanged}}, {}, {.recipe = false});
  builder.store(frozen, 10);
  builder.store(other, 10);
  const StepLog log = builder.build();
  const OpGraph graph = *make_op_graph(log);
  const Outcome of_frozen = play(graph, {{1, ActionKind::kOffload, frozen}});
  EXPECT_EQ(of_frozen.refused, 0u);
  EXPECT_EQ(of_frozen.copies, 1u) << "it comes back in each iteration, and was stored in an earlier one";
  const Outcome of_other = play(graph, {{0, ActionKind::kOffload, other}});
  EXPECT_EQ(of_other.refused, 0u);
  EXPECT_EQ(of_other.copies, 2u);
}

TEST(Copies, BesideOpsTheyAreHidden) {
  StepLog log = transformer(6);
  for (const Buffer& buffer : log.trace.buffers) log.copy_ns.push_back(10'000 + buffer.rounded.value() / 24);
  for (const double share : {0.75, 0.5, 0.33}) {
    const Bytes budget = share_of_peak(log, share);
    log.copy_lanes = CopyLanes::kNone;
    const Result<Schedule> one_by_one = make_schedule(log, budget, options_for_tests());
    log.copy_lanes = CopyLanes::kShared;
    const Result<Schedule> beside = make_schedule(log, budget, options_for_tests());
    ASSERT_TRUE(one_by_one.ok() && beside.ok()) << share;
    EXPECT_LT(beside->added_ns() * 10, one_by_one->added_ns()) << share;
    EXPECT_LE(beside->height, budget);
    EXPECT_LE(beside->bound_ns, beside->added_ns());
    const Result<Schedule> taken = accept_schedule(log, beside->actions, budget);
    ASSERT_TRUE(taken.ok()) << taken.error().message;
    EXPECT_EQ(taken->wait_ns, beside->wait_ns);
  }
}

// One buffer leaves and another comes back at the same op. Both are waited for.
TEST(Copies, ThoseThereRunBesideThoseBack) {
  LogBuilder builder;
  const std::uint32_t leaves = builder.before(8);
  const std::uint32_t comes = builder.before(8);
  for (const std::uint32_t buffer : {leaves, comes}) builder.store(buffer, 50);
  const auto change = [&](std::uint32_t buffer) {
    builder.op({{buffer, ValueRole::kChanged}}, {}, {.cost_us = 1, .recipe = false});
  };
  change(comes);
  change(leaves);
  change(comes);
  change(leaves);
  StepLog log = builder.build();
  const std::vector<Step> steps{{1, ActionKind::kOffload, comes},
                                {2, ActionKind::kStore, leaves},
                                {2, ActionKind::kPrefetch, comes},
                                {3, ActionKind::kOffload, leaves}};
  const auto waited_us = [&](CopyLanes lanes) {
    log.copy_lanes = lanes;
    const OpGraph graph = *make_op_graph(log);
    expect_agreement(log, graph, steps);
    return play(graph, steps).wait_ns / 1000;
  };
  EXPECT_EQ(waited_us(CopyLanes::kNone), 4 * 50u);
  EXPECT_EQ(waited_us(CopyLanes::kShared), 4 * 50u);
  EXPECT_EQ(waited_us(CopyLanes::kEachWay), 3 * 50u);
}

// A third of the parameters and states are read in ops that take less time than their copies.
TEST(Copies, BesideOpsTheyNeedTimeOfTheirOwn) {
  StepLog log = optimized(24, 64, 4, 60);
  log.copy_lanes = CopyLanes::kShared;
  const Result<Schedule> made = make_schedule(log, share_of_peak(log, 0.33), options_for_tests());
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_LT(made->wait_ns, made->copy_ns);
  EXPECT_GE(ops_ns(log) + made->added_ns(), made->copy_ns);
  EXPECT_GT(made->bound_ns, 0u);
}

TEST(Copies, ASlowLinkIsUsedForWhatItCanDo) {
  StepLog log = transformer(12);
  for (const Buffer& buffer : log.trace.buffers) log.copy_ns.push_back(10'000 + 20 * buffer.rounded.value());
  const Bytes budget = share_of_peak(log, 0.33);
  const Result<Schedule> one_by_one = make_schedule(log, budget, options_for_tests());
  log.copy_lanes = CopyLanes::kShared;
  const Result<Schedule> beside = make_schedule(log, budget, options_for_tests());
  ASSERT_TRUE(one_by_one.ok() && beside.ok());
  EXPECT_EQ(one_by_one->copies, 0u) << "each costs more than it saves";
  EXPECT_GT(beside->copies, 0u);
  EXPECT_GT(beside->replays, 0u);
  EXPECT_LT(beside->added_ns() * 4, one_by_one->added_ns() * 3);
  EXPECT_GT(beside->bound_ns * 5, beside->added_ns());
}

TEST(Copies, BesideOpsTheyCostLessInRandomIterations) {
  std::uint64_t one_by_one = 0, beside = 0, moved = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    StepLog log = random_log_with_stores(seed, 8 + seed % 10);
    const Bytes budget = share_of_peak(log, 0.6);
    ScheduleOptions options = options_for_tests();
    options.placed = false;
    options.work_limit = 5'000'000;
    log.copy_lanes = CopyLanes::kNone;
    const Result<Schedule> before = make_schedule(log, budget, options);
    log.copy_lanes = CopyLanes::kShared;
    const Result<Schedule> after = make_schedule(log, budget, options);
    ASSERT_LE(before.ok(), after.ok()) << seed;
    if (!before) continue;
    one_by_one += before->added_ns();
    beside += after->added_ns();
    moved += after->wait_ns < after->copy_ns ? 1 : 0;
  }
  EXPECT_LT(beside, one_by_one);
  EXPECT_GT(moved, 20u);
}

TEST(Copies, TheCheaperWayIsTaken) {
  for (const std::uint64_t copy_us : {1u, 1000u}) {
    LogBuilder builder;
    const std::uint32_t leaf = builder.before(1);
    const std::uint32_t value = builder.op({leaf}, 16, 100);
    const std::uint32_t wide = builder.op({leaf}, 16, 10);
    builder.op({wide}, 1);
    builder.free(wide);
    builder.op({value}, 1);
    builder.free(value);
    builder.store(value, copy_us);
    const StepLog log = builder.build();
    ScheduleOptions options = options_for_tests();
    options.placed = false;
    const Result<Schedule> made = make_schedule(log, share_of_peak(log, 0.8), options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(made->copies, copy_us == 1 ? 2u : 0u);
  }
}

TEST(Copies, AFoundScheduleIsNeverBelowItsBound) {
  int offloading = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const StepLog log = random_log_with_stores(seed, 6 + seed % 12);
    ScheduleOptions options = options_for_tests();
    options.placed = false;
    options.work_limit = 5'000'000;
    for (const double share : {0.8, 0.6, 0.45}) {
      const Bytes budget = share_of_peak(log, share);
      const Result<Schedule> made = make_schedule(log, budget, options);
      const OpGraph graph = *make_op_graph(log);
      if (!made) {
        ASSERT_EQ(made.error().code, ErrorCode::kUnplannable) << seed << made.error().message;
        continue;
      }
      offloading += made->copies > 0 ? 1 : 0;
      const GapTable gaps = make_gaps(graph, 0);
      ASSERT_LE(least_peak(gaps), budget.value()) << seed;
      ASSERT_LE(made->bound_ns, made->added_ns()) << seed;
    }
  }
  EXPECT_GT(offloading, 50);
}

}  // namespace
}  // namespace stowage::planner::schedule
