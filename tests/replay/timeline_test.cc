// Timelines: what a small trace becomes, and that any valid trace becomes JSON with events in sound order.
#include "replay/timeline/timeline.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "replay/timeline/tick_times.h"
#include "tests/core/random_trace.h"

namespace stowage::replay {
namespace {

using Json = nlohmann::json;

Json timeline_of(const Trace& trace) {
  std::ostringstream out;
  const Status written = write_timeline(trace, out);
  EXPECT_TRUE(written.ok()) << written.error().message;
  return Json::parse(out.str());
}

std::vector<Json> events_of(const Json& timeline, const std::string& key, const std::string& value) {
  std::vector<Json> found;
  for (const Json& event : timeline["traceEvents"])
    if (event.contains(key) && event[key] == value) found.push_back(event);
  return found;
}

/// One op on thread 2 with one launch on stream 7, a buffer that lives inside it, two marks, two phases.
Trace small_trace() {
  Trace trace;
  trace.info.device = {DeviceKind::kCuda, 0};
  trace.info.device_name = "a GPU";
  trace.names = {"aten::mm", "gemm", "cudaLaunchKernel", "recording", "planned"};
  trace.clock_realtime_ns = 5'000'000;
  Op op;
  op.thread = 2;
  op.begin = Tick(1);
  op.end = Tick(4);
  op.begin_ns = 10'000;
  op.end_ns = 40'000;
  op.duration_ns = 9'000;
  op.timed_by = TimeSource::kCupti;
  trace.ops = {op};
  trace.on_device = {{1, 0, 0, 0}};
  trace.activities = {{.kind = ActivityKind::kCall,
                       .name = 2,
                       .op = OpId(0),
                       .thread = 77,
                       .correlation = 5,
                       .begin_ns = 12'000,
                       .duration_ns = 2'000},
                      {.kind = ActivityKind::kKernel,
                       .name = 1,
                       .op = OpId(0),
                       .stream = 7,
                       .correlation = 5,
                       .begin_ns = 20'000,
                       .duration_ns = 9'000}};
  Buffer buffer;
  buffer.bytes = buffer.rounded = Bytes(512);
  buffer.birth = Tick(2);
  buffer.free_requested = buffer.death = Tick(3);
  trace.buffers = {buffer};
  trace.marks = {{Tick(0), MarkSource::kUser, 5'000}, {Tick(5), MarkSource::kUser, 60'000}};
  trace.phases = {{3, 0}, {4, 50'000}};
  trace.end = Tick(6);
  return trace;
}

TEST(Timeline, AnOpAndItsKernelAreSlicesThatAnArrowJoins) {
  const Json timeline = timeline_of(small_trace());
  EXPECT_EQ(timeline["schemaVersion"], 1);
  EXPECT_EQ(timeline["baseTimeNanoseconds"], 5'000'000);
  const auto ops = events_of(timeline, "cat", "cpu_op");
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0]["name"], "aten::mm");
  EXPECT_EQ(ops[0]["ts"], 10.0);
  EXPECT_EQ(ops[0]["dur"], 30.0);
  EXPECT_EQ(ops[0]["tid"], 2);
  EXPECT_EQ(ops[0]["args"]["timed by"], "cupti");
  const auto kernels = events_of(timeline, "cat", "kernel");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0]["pid"], 0);
  EXPECT_EQ(kernels[0]["tid"], 7);
  EXPECT_EQ(kernels[0]["args"]["External id"], ops[0]["args"]["External id"]);
  const auto calls = events_of(timeline, "cat", "cuda_runtime");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["tid"], 1'000'002) << "beside the thread whose op made the call";
  const auto arrows = events_of(timeline, "cat", "ac2g");
  ASSERT_EQ(arrows.size(), 2u);
  EXPECT_EQ(arrows[0]["ph"], "s");
  EXPECT_EQ(arrows[0]["ts"], calls[0]["ts"]);
  EXPECT_EQ(arrows[1]["ph"], "f");
  EXPECT_EQ(arrows[1]["ts"], kernels[0]["ts"]);
}

TEST(Timeline, LiveBytesRiseAndFallBetweenTheTimesAround) {
  const auto counters = events_of(timeline_of(small_trace()), "ph", "C");
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[0]["args"]["bytes"], 512);
  EXPECT_EQ(counters[0]["ts"], 20.0) << "a third of the way through the op";
  EXPECT_EQ(counters[1]["args"]["bytes"], 0);
  EXPECT_EQ(counters[1]["ts"], 30.0);
}

TEST(Timeline, ShowsIterationsAndPhases) {
  const Json timeline = timeline_of(small_trace());
  const auto iterations = events_of(timeline, "cat", "iteration");
  ASSERT_EQ(iterations.size(), 1u);
  EXPECT_EQ(iterations[0]["dur"], 55.0);
  const auto phases = events_of(timeline, "cat", "phase");
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0]["name"], "recording");
  EXPECT_EQ(phases[0]["dur"], 50.0);
  EXPECT_EQ(phases[1]["name"], "planned");
}

TEST(Timeline, ATraceWithoutTimesIsAnErrorThatSaysSo) {
  Trace trace = small_trace();
  trace.ops[0].begin_ns = trace.ops[0].end_ns = 0;
  for (Mark& mark : trace.marks) mark.at_ns = 0;
  std::ostringstream out;
  const Status written = write_timeline(trace, out);
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message.find("no times"), std::string::npos);
}

TEST(Timeline, TimesOfTicksNeverGoBack) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Trace trace = testing::random_trace(seed);
    const TickTimes times(trace);
    std::uint64_t before = 0;
    for (std::uint64_t tick = 0; tick <= trace.end.value(); ++tick) {
      ASSERT_GE(times.ns(Tick(tick)), before) << seed;
      before = times.ns(Tick(tick));
    }
  }
}

TEST(Timeline, AnyTraceBecomesJsonWithoutNegativeLengths) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Trace trace = testing::random_trace(seed);
    if (TickTimes(trace).empty()) continue;
    for (const Json& event : timeline_of(trace)["traceEvents"]) {
      ASSERT_TRUE(event.contains("ph") && event.contains("pid") && event.contains("tid")) << event;
      if (event["ph"] == "X") {
        ASSERT_GE(event["dur"].get<double>(), 0) << event;
      }
    }
  }
}

TEST(Timeline, AFileThatCannotBeWrittenIsAnError) {
  std::ofstream nowhere("/nonexistent/file");
  EXPECT_FALSE(write_timeline(small_trace(), nowhere).ok());
}

}  // namespace
}  // namespace stowage::replay
