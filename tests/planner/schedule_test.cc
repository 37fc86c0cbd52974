// Schedules: the model of the runtime against the independent validator, feasibility against brute force, and
// what a schedule promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/support/mix.h"
#include "planner/schedule/check/validator.h"
#include "planner/schedule/model/play.h"
#include "planner/schedule/scheduler.h"
#include "tests/planner/agreement.h"
#include "tests/planner/schedule_logs.h"

namespace stowage::planner::schedule {
namespace {

constexpr Bytes kPlenty = Bytes(std::uint64_t{1} << 50u);

Verdict plain(const StepLog& log) {
  Schedule nothing;
  nothing.shape_hashes = log.shape_hashes;
  return *validate_schedule(log, nothing, kPlenty);
}

ScheduleOptions options_for_tests() {
  ScheduleOptions options;
  options.smallest = Bytes(0);
  options.work_limit = 50'000'000;
  return options;
}

// The least peak that any choice of evictions before each op reaches, by trying them all.
class BruteForce {
 public:
  explicit BruteForce(const OpGraph& graph) : graph_(graph), best_(play(graph, {}).peak) {}

  std::uint64_t least_peak() {
    try_from(0);
    return best_;
  }

 private:
  // Each op's evictions are any subset of what could be evicted: played from the start, which is slow and
  // plain.
  void try_from(std::uint32_t op) {
    if (op == graph_.ops.size()) return;
    std::vector<std::uint32_t> buffers;
    for (std::uint32_t b = 0; b < graph_.buffers.size(); ++b) {
      if (graph_.buffers[b].may_go && !graph_.touched[b].empty() && graph_.touched[b].front() < op)
        buffers.push_back(b);
    }
    for (std::uint32_t subset = 0; subset < (1u << buffers.size()); ++subset) {
      const std::size_t size = steps_.size();
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        if ((subset >> i & 1u) != 0) steps_.push_back({op, ActionKind::kEvict, buffers[i]});
      }
      const Outcome outcome = play(graph_, steps_);
      if (outcome.refused == 0) {
        best_ = std::min(best_, outcome.peak);
        try_from(op + 1);
      }
      steps_.resize(size);
    }
  }

  const OpGraph& graph_;
  std::vector<Step> steps_;
  std::uint64_t best_;
};

TEST(Model, AgreesWithTheValidatorUnderRandomActions) {
  std::uint64_t replays = 0;
  std::uint64_t evictions = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const StepLog log = random_log(seed, 4 + seed % 14);
    const Result<OpGraph> graph = make_op_graph(log);
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const auto steps =
        random_steps(*graph, seed + 77, [&](std::uint32_t b, SplitMix& lots) -> std::optional<ActionKind> {
          if (!graph->buffers[b].may_go || lots.next() % 3 != 0) return std::nullopt;
          return lots.next() % 4 == 0 ? ActionKind::kRematerialize : ActionKind::kEvict;
        });
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(expect_agreement(log, *graph, steps));
    const Outcome outcome = play(*graph, steps);
    replays += outcome.replays;
    evictions += steps.size();
  }
  EXPECT_GT(replays, 3000u);
  EXPECT_GT(evictions, 3000u);
}

// tests/recompute/value_state_test.cc has the runtime's.
TEST(Model, HasTheStatesOfTheContract) {
  LogBuilder log;
  const std::uint32_t leaf = log.before(4);
  const std::uint32_t a = log.op({leaf}, 4);
  const std::uint32_t b = log.op({a}, 4);
  log.op(std::vector<LogBuilder::Input>{{leaf, ValueRole::kChanged}}, {}, {.recipe = false});
  log.free(a);
  log.free(b);
  const OpGraph graph = *make_op_graph(log.build());
  Model model(graph);
  const auto state = [&](std::uint32_t buffer) { return model.state_of(graph.first_value[buffer]); };
  for (const std::uint32_t op : {0u, 1u}) {
    model.come_to(op);
    model.lock(op);
    model.run(op);
    model.end(op);
  }
  EXPECT_EQ(state(b), ValueState::kResident);
  ASSERT_TRUE(model.evict(b));
  EXPECT_EQ(state(b), ValueState::kEvicted);
  EXPECT_EQ(state(leaf), ValueState::kResident);

  model.come_to(2);
  model.freeze(graph.first_value[leaf]);
  EXPECT_EQ(state(leaf), ValueState::kResident);
  EXPECT_FALSE(model.evict(a)) << "it starts from what is about to be written";
  model.restore(b);
  EXPECT_EQ(state(b), ValueState::kResident);
  model.lock(2);
  model.close(graph.first_value[leaf]);
  model.freeze(graph.first_value[leaf]);
  EXPECT_EQ(state(leaf), ValueState::kClosing) << "a value is never opened again";
  model.run(2);
  model.end(2);
  EXPECT_EQ(state(leaf), ValueState::kLost);
  model.death(b);
  EXPECT_EQ(state(b), ValueState::kDead);
}

TEST(Scheduler, NeverClaimsMoreThanBruteForceReaches) {
  int reached = 0;
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const StepLog log = random_log(seed, 5 + seed % 3);
    const Result<OpGraph> graph = make_op_graph(log);
    if (std::count(log.stays.begin(), log.stays.end(), Stay::kMayGo) > 3)
      continue;  // too many to try them all
    const std::uint64_t least = BruteForce(*graph).least_peak();
    if (least == play(*graph, {}).peak) continue;
    ScheduleOptions options = options_for_tests();
    options.placed = false;
    ++tried;
    const Result<Schedule> at_least = make_schedule(log, Bytes(least), options);
    if (at_least.ok()) {
      ++reached;
      ASSERT_TRUE(validate_schedule(log, *at_least, Bytes(least)).ok()) << seed;
    } else {
      EXPECT_EQ(at_least.error().code, ErrorCode::kUnplannable) << seed << at_least.error().message;
    }
    // Restores in parts may do with less than any choice of evictions, but what is claimed is checked.
    const Result<Schedule> below = make_schedule(log, Bytes(least - 1), options);
    if (below.ok()) {
      EXPECT_TRUE(validate_schedule(log, *below, Bytes(least - 1)).ok()) << seed;
    }
  }
  RecordProperty("reached", reached);
  RecordProperty("tried", tried);
  EXPECT_GT(tried, 100);
  EXPECT_GE(reached * 10, tried * 9);
}

struct Family {
  std::string name;
  StepLog log;
};

std::vector<Family> families() {
  return {{"chain", chain(40, 8)}, {"unet", unet(5)}, {"transformer", transformer(6)}};
}

TEST(Scheduler, HoldsEveryBudgetThatItAccepts) {
  for (const Family& family : families()) {
    const Bytes whole = plain(family.log).peak;
    std::uint64_t before = 0;
    for (const std::uint64_t percent : {90u, 75u, 60u, 50u}) {
      const Bytes budget(whole.value() * percent / 100);
      const Result<Schedule> schedule = make_schedule(family.log, budget, options_for_tests());
      ASSERT_TRUE(schedule.ok()) << family.name << percent << schedule.error().message;
      const Result<Verdict> verdict = validate_schedule(family.log, *schedule, budget);
      ASSERT_TRUE(verdict.ok()) << family.name << verdict.error().message;
      EXPECT_EQ(verdict->peak, schedule->peak);
      EXPECT_EQ(verdict->replays, schedule->replays);
      EXPECT_LE(schedule->height, budget);
      EXPECT_GE(schedule->height, schedule->peak);
      EXPECT_GT(schedule->replays, 0u);
      before += schedule->replay_ns;
    }
    EXPECT_GT(before, 0u);
  }
}

TEST(Scheduler, NothingIsEvictedWhereTheBudgetIsNotNeeded) {
  for (const Family& family : families()) {
    ScheduleOptions options = options_for_tests();
    options.placed = false;
    const Result<Schedule> schedule = make_schedule(family.log, plain(family.log).peak, options);
    ASSERT_TRUE(schedule.ok());
    EXPECT_TRUE(schedule->actions.empty());
    EXPECT_EQ(schedule->replays, 0u);
  }
}

TEST(Scheduler, SaysWhatWouldDo) {
  const StepLog log = transformer(6);
  const Result<Schedule> impossible = make_schedule(log, Bytes(20 * 512), options_for_tests());
  ASSERT_FALSE(impossible.ok());
  EXPECT_EQ(impossible.error().code, ErrorCode::kUnplannable);
  const std::string& text = impossible.error().message;
  const std::size_t open = text.rfind('(');
  ASSERT_NE(open, std::string::npos);
  const Bytes least(std::stoull(text.substr(open + 1)));
  ScheduleOptions options = options_for_tests();
  options.placed = false;
  EXPECT_TRUE(make_schedule(log, least, options).ok());
}

TEST(Scheduler, IsDeterministic) {
  const StepLog log = unet(5);
  const Bytes budget(plain(log).peak.value() * 6 / 10);
  const Result<Schedule> first = make_schedule(log, budget, options_for_tests());
  const Result<Schedule> second = make_schedule(log, budget, options_for_tests());
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->actions, second->actions);
}

TEST(Scheduler, StopsOnRequest) {
  std::stop_source source;
  source.request_stop();
  const Result<Schedule> stopped =
      make_schedule(chain(40, 8), Bytes(1 << 16), options_for_tests(), source.get_token());
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

TEST(Scheduler, AChainCanRunInItsSquareRoot) {
  // 100 layers of 8 granules; segments of 10 need about 20 layers at a time, with a third more work.
  const StepLog log = chain(100, 8);
  const Bytes budget(30 * 8 * 512);
  const Result<Schedule> schedule = make_schedule(log, budget, options_for_tests());
  ASSERT_TRUE(schedule.ok()) << schedule.error().message;
  EXPECT_LE(schedule->replays, 250u);
}

// Without the sweeps that begin with most of what was found it recomputes for 240 and 800 us.
TEST(Scheduler, ComesCloserToTheBoundByWhatItFound) {
  constexpr std::uint64_t kSeeds = 8;
  const StepLog log = unet(6);
  ScheduleOptions options = options_for_tests();
  options.placed = false;
  options.work_limit = 1'000'000'000;
  const auto mean_overhead_us = [&](std::uint64_t percent) {
    std::uint64_t sum = 0;
    for (options.seed = 1; options.seed <= kSeeds; ++options.seed) {
      const Bytes budget(plain(log).peak.value() * percent / 100);
      const Result<Schedule> made = make_schedule(log, budget, options);
      sum += made.ok() ? made->replay_ns / 1000 : 1'000'000;
    }
    return sum / kSeeds;
  };
  EXPECT_LE(mean_overhead_us(60), 165u);
  EXPECT_LE(mean_overhead_us(47), 690u);
  EXPECT_LE(mean_overhead_us(45), 850u);
}

TEST(Scheduler, TenThousandOps) {
  const StepLog log = transformer(430);
  ASSERT_GT(log.trace.ops.size(), 9900u);
  ScheduleOptions options;
  options.smallest = Bytes(0);
  const Bytes budget(plain(log).peak.value() * 6 / 10);
  const Result<Schedule> schedule = make_schedule(log, budget, options);
  ASSERT_TRUE(schedule.ok()) << schedule.error().message;
  EXPECT_TRUE(validate_schedule(log, *schedule, budget).ok());
}

// -- planted faults
// ---------------------------------------------------------------------------------------------

class PlantedFault : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<Schedule> made = make_schedule(log_, budget_, options_for_tests());
    ASSERT_TRUE(made.ok());
    schedule_ = *made;
    ASSERT_GT(schedule_.actions.size(), 3u);
    ASSERT_TRUE(validate_schedule(log_, schedule_, budget_).ok());
  }
  void expect_found(const std::string& part) {
    const Result<Verdict> verdict = validate_schedule(log_, schedule_, budget_);
    ASSERT_FALSE(verdict.ok());
    EXPECT_EQ(verdict.error().code, ErrorCode::kInvalidPlan);
    EXPECT_NE(verdict.error().message.find(part), std::string::npos) << verdict.error().message;
  }

  StepLog log_ = transformer(4);
  Bytes budget_{plain(log_).peak.value() * 6 / 10};
  Schedule schedule_;
};

TEST_F(PlantedFault, EvictedTwice) {
  schedule_.actions.insert(schedule_.actions.begin(), schedule_.actions.front());
  expect_found("is not there");
}
TEST_F(PlantedFault, LeftOut) {
  // One left out at a time: at least one of them was needed.
  const Schedule whole = schedule_;
  int needed = 0;
  for (std::size_t i = 0; i < whole.actions.size(); ++i) {
    schedule_ = whole;
    schedule_.actions.erase(schedule_.actions.begin() + static_cast<std::ptrdiff_t>(i));
    if (!validate_schedule(log_, schedule_, whole.peak).ok()) ++needed;
  }
  EXPECT_GT(needed, 0);
}
TEST_F(PlantedFault, NotBornYet) {
  schedule_.actions.insert(schedule_.actions.begin(), {ActionKind::kEvict, 0, 5});
  expect_found("is not there");
}
TEST_F(PlantedFault, MayNotGo) {
  const auto at = std::find(log_.stays.begin(), log_.stays.end(), Stay::kNoRecipe);
  for (std::uint32_t entry = 0; entry < log_.made.size(); ++entry) {
    if (log_.made[entry].value() != static_cast<std::uint32_t>(at - log_.stays.begin())) continue;
    schedule_.actions.push_back(
        {ActionKind::kEvict, static_cast<std::uint32_t>(log_.trace.ops.size() - 1), entry});
  }
  expect_found("must stay");
}
TEST_F(PlantedFault, NoSuchBuffer) {
  schedule_.actions.front().entry = static_cast<std::uint32_t>(log_.made.size());
  expect_found("is not in the log");
}
TEST_F(PlantedFault, OtherOps) {
  ++schedule_.shape_hashes.front();
  expect_found("other ops");
}
TEST_F(PlantedFault, OutOfOrder) {
  std::rotate(schedule_.actions.begin(), schedule_.actions.begin() + 1, schedule_.actions.end());
  expect_found("bytes are held");
  budget_ = kPlenty;
  expect_found("does not come");
}
TEST_F(PlantedFault, AnotherKind) {
  schedule_.actions.front().kind = ActionKind{6};
  expect_found("kind");
  schedule_.actions.front().kind = ActionKind::kOffload;
  expect_found("has no store");
}
TEST_F(PlantedFault, TooMuchHeld) {
  budget_ = Bytes(schedule_.peak.value() - 1);
  expect_found("bytes are held");
}

TEST(Validator, FindsAnEvictionOfWhatIsPinnedByNow) {
  LogBuilder log;
  const std::uint32_t value = log.op({log.before(1)}, 4);
  log.op({value}, 1);
  log.pin(value);
  log.op({value}, 1);
  log.free(value);
  const StepLog built = log.build();
  Schedule schedule;
  schedule.shape_hashes = built.shape_hashes;
  schedule.actions = {{ActionKind::kEvict, 1, 0}};
  EXPECT_FALSE(validate_schedule(built, schedule, kPlenty).ok());
  schedule.actions = {{ActionKind::kEvict, 2, 0}};
  const Result<Verdict> late = validate_schedule(built, schedule, kPlenty);
  ASSERT_FALSE(late.ok());
  EXPECT_NE(late.error().message.find("must stay"), std::string::npos);
}

TEST(Validator, FindsALostLeaf) {
  LogBuilder log;
  const std::uint32_t weight = log.before(1);
  const auto leaf = log.op({{weight}}, {{4, false}}, {});
  const std::uint32_t value = log.op({leaf[0]}, 4);
  log.free(leaf[0]);
  log.op({weight}, 1);
  log.op({value}, 1);
  log.free(value);
  const StepLog built = log.build();
  Schedule schedule;
  schedule.shape_hashes = built.shape_hashes;
  schedule.actions = {{ActionKind::kEvict, 2, 1}};
  const Result<Verdict> late = validate_schedule(built, schedule, kPlenty);
  ASSERT_FALSE(late.ok());
  EXPECT_NE(late.error().message.find("nothing can make its buffer again"), std::string::npos);
}

}  // namespace
}  // namespace stowage::planner::schedule
