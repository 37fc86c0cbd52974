#include "replay/replayer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "planner/planner.h"
#include "replay/replay_report.h"

namespace stowage::replay {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

/// Writes down a job by hand: a parameter, then `iterations` of forward activations, backward and a kept
/// loss.
class JobWriter {
 public:
  std::uint32_t allocate(std::uint64_t bytes) {
    Buffer buffer;
    buffer.bytes = buffer.rounded = Bytes(bytes);
    buffer.birth = Tick(tick_++);
    trace_.buffers.push_back(buffer);
    return static_cast<std::uint32_t>(trace_.buffers.size() - 1);
  }
  void free(std::uint32_t id) {
    trace_.buffers[id].free_requested = trace_.buffers[id].death = Tick(tick_++);
  }
  void mark() {
    trace_.marks.push_back({Tick(tick_++), MarkSource::kUser});
    boundaries_.push_back(Tick(tick_));
  }
  void iteration() {
    std::vector<std::uint32_t> activations;
    for (std::uint64_t layer = 1; layer <= 6; ++layer) activations.push_back(allocate(layer * kMiB));
    const std::uint32_t loss = allocate(512);
    if (kept_loss_) free(*kept_loss_);
    kept_loss_ = loss;
    while (!activations.empty()) {
      const std::uint32_t gradient = allocate(3 * kMiB);
      free(activations.back());
      free(gradient);
      activations.pop_back();
    }
    mark();
  }
  Trace finish() {
    const std::size_t n = boundaries_.size();
    if (n >= 3) trace_.steady = SteadyWindow{boundaries_[n - 3], boundaries_[n - 2], boundaries_[n - 1]};
    trace_.end = Tick(tick_);
    trace_.from_first_allocation = true;
    return trace_;
  }

 private:
  Trace trace_;
  std::uint64_t tick_ = 0;
  std::optional<std::uint32_t> kept_loss_;
  std::vector<Tick> boundaries_;
};

Trace small_job(int iterations) {
  JobWriter writer;
  writer.allocate(8 * kMiB);
  for (int i = 0; i < iterations; ++i) writer.iteration();
  return writer.finish();
}

TEST(Replayer, FollowsThePlanWithoutAMiss) {
  const Trace trace = small_job(4);
  auto plan = planner::make_plan(trace, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  auto replayed = replay_planned(trace, *plan, 5);
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;
  for (const std::uint64_t misses : replayed->counts.misses) EXPECT_EQ(misses, 0u);
  EXPECT_EQ(replayed->counts.iterations, 5u);
  EXPECT_EQ(replayed->figures.reserved, plan->height);
  EXPECT_LE(replayed->figures.peak_live, plan->height);
  EXPECT_EQ(replayed->outside, Bytes(8 * kMiB));
}

TEST(Replayer, RefusesAPlanOfAnotherJob) {
  const Trace trace = small_job(4);
  auto plan = planner::make_plan(trace, {});
  ASSERT_TRUE(plan.ok());
  plan->entries.pop_back();
  auto replayed = replay_planned(trace, *plan, 1);
  ASSERT_FALSE(replayed.ok());
  EXPECT_EQ(replayed.error().code, ErrorCode::kInvalidPlan);
}

TEST(Replayer, RefusesATraceWithoutASteadyIteration) {
  const Trace trace = small_job(1);
  auto replayed = replay_planned(trace, Plan{}, 1);
  ASSERT_FALSE(replayed.ok());
  EXPECT_EQ(replayed.error().code, ErrorCode::kUnplannable);
}

TEST(Replayer, TheModelSeesTheWholeTrace) {
  const Trace trace = small_job(4);
  const std::optional<Figures> figures = replay_caching(trace, CachingModel::Segments::kFixed);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->peak_live, peak_live(trace, Tick(0), trace.end));
  EXPECT_GT(figures->reserved, figures->peak_live);
  EXPECT_GT(figures->fragmentation(), 0.0);
}

TEST(Replayer, NothingIsModelledWithoutTheJobsBeginning) {
  Trace trace = small_job(4);
  trace.from_first_allocation = false;
  EXPECT_FALSE(replay_caching(trace, CachingModel::Segments::kFixed));
}

TEST(ReplayReport, JsonHoldsTheFiguresOfTheWholeJob) {
  const Trace trace = small_job(4);
  auto plan = planner::make_plan(trace, {});
  ASSERT_TRUE(plan.ok());
  auto replayed = replay_planned(trace, *plan, 2);
  ASSERT_TRUE(replayed.ok());
  const nlohmann::json json = to_json(make_report(trace, *plan, *replayed));
  EXPECT_EQ(json["reserved"].get<std::uint64_t>(), plan->height.value() + 8 * kMiB);
  EXPECT_EQ(json["misses"], 0);
  EXPECT_GE(json["compare"]["caching"]["reserved"].get<std::uint64_t>(),
            json["reserved"].get<std::uint64_t>());
}

}  // namespace
}  // namespace stowage::replay
