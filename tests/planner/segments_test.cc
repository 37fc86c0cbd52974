// Evictions by segments of the forward pass.
#include "planner/schedule/search/segments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "planner/schedule/scheduler.h"
#include "tests/planner/schedule_logs.h"

namespace stowage::planner::schedule {
namespace {

constexpr std::uint64_t kLayerBytes = std::uint64_t{8} * 512;

std::set<std::uint32_t> evicted_by(const std::vector<Step>& steps) {
  std::set<std::uint32_t> buffers;
  for (const Step& step : steps) buffers.insert(step.buffer);
  return buffers;
}

TEST(Segments, OfAChainKeepTheirLastLayersAndAllOfTheLastOne) {
  constexpr std::uint32_t kLayers = 20;
  const Result<OpGraph> graph = make_op_graph(chain(kLayers, 8));
  const std::vector<Step> steps = Segments(*graph, 0).evictions(5 * kLayerBytes);
  EXPECT_EQ(steps.size(), evicted_by(steps).size());
  EXPECT_GE(steps.size(), kLayers / 2);
  EXPECT_LE(steps.size(), kLayers - 5 - 3) << "the last segment stays, and a layer of each other one";
  const Outcome outcome = play(*graph, steps);
  EXPECT_EQ(outcome.refused, 0u);
  EXPECT_LT(outcome.peak, play(*graph, {}).peak * 6 / 10);
  EXPECT_LE(outcome.replays, 2 * steps.size()) << "each segment comes back as a whole";
}

TEST(Segments, AreThoseThatCanBeEvicted) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Result<OpGraph> graph = make_op_graph(random_log(seed, 40));
    for (const std::uint64_t bytes : {std::uint64_t{1}, 4 * kLayerBytes}) {
      const std::vector<Step> steps = Segments(*graph, 1024).evictions(bytes);
      EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end(),
                                 [](const Step& a, const Step& b) { return a.op < b.op; }));
      for (const Step& step : steps) {
        EXPECT_TRUE(graph->buffers[step.buffer].may_go);
        EXPECT_GE(graph->buffers[step.buffer].bytes, 1024u);
      }
    }
  }
}

// Layers of all sizes, each gradient made of the layer's input alone.
StepLog uneven_chain(std::uint32_t layers, std::uint32_t seed) {
  std::mt19937 random(seed);
  LogBuilder log;
  const std::uint32_t weight = log.before(2);
  std::vector<std::uint32_t> values{log.before(8)};
  for (std::uint32_t i = 0; i < layers; ++i) {
    const std::uint64_t granules = (1 + random() % 64) * (random() % 10 == 0 ? 8 : 1);
    values.push_back(log.op({values.back(), weight}, granules));
  }
  std::uint32_t gradient = log.op({values.back()}, 1);
  for (std::uint32_t i = layers; i-- > 0;) {
    const std::uint32_t next = log.op({gradient, values[i], weight}, 1);
    log.free(gradient);
    log.free(values[i + 1]);
    gradient = next;
  }
  log.free(gradient);
  return log.build();
}

// With runs of about equal bytes nothing is found for less than 6.2 to 6.6 %.
TEST(Segments, OfTheLeastPeakFindASchedule) {
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    const StepLog log = uneven_chain(300, seed);
    const std::uint64_t plain = play(*make_op_graph(log), {}).peak;
    ScheduleOptions options;
    options.smallest = Bytes(0);
    options.placed = false;
    options.work_limit = 50'000'000;
    const Result<Schedule> made = make_schedule(log, Bytes(plain * 56 / 1000), options);
    EXPECT_TRUE(made.ok()) << seed << ": " << made.error().message;
  }
}

// Without them no sweep finds a schedule for less than 14 %.
TEST(Segments, FindAScheduleWhereNoSweepDoes) {
  const StepLog log = chain(100, 8);
  const std::uint64_t plain = play(*make_op_graph(log), {}).peak;
  ScheduleOptions options;
  options.smallest = Bytes(0);
  options.placed = false;
  const Result<Schedule> made = make_schedule(log, Bytes(plain * 133 / 1000), options);
  EXPECT_TRUE(made.ok()) << made.error().message;
}

}  // namespace
}  // namespace stowage::planner::schedule
