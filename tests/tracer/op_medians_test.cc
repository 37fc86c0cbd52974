// The median of an op's times over iterations: which ops are the same one, and which times count.
#include <gtest/gtest.h>

#include <array>

#include "tests/tracer/feed.h"
#include "tracer/recorder/op_medians.h"

namespace stowage::tracer {
namespace {

/// A job whose iterations run the ops "a", "b", "a" with the times given, measured by a device.
class Iterations {
 public:
  void run(std::array<std::uint64_t, 3> times_ns, TimeSource source = TimeSource::kCupti) {
    const char* const names[] = {"a", "b", "a"};
    feed.recorder.on_free(feed.alloc(512));
    for (std::size_t i = 0; i < 3; ++i) {
      const OpId op = feed.recorder.on_op_begin();
      feed.recorder.on_op_end(op, {.name = names[i], .begin_ns = 1, .end_ns = 2, .timed_by_device = true});
      OpTimes times;
      times.op = op;
      times.duration_ns = times_ns[i];
      times.source = source;
      times.on_device = {static_cast<std::uint32_t>(i + 1), times_ns[i] / 2, times_ns[i] / 4, 0};
      feed.recorder.set_op_times({times});
    }
    feed.recorder.on_mark(MarkSource::kOptimizer);
  }
  /// The durations of the last iteration's ops.
  [[nodiscard]] std::vector<std::uint64_t> last() const {
    const Trace trace = feed.recorder.snapshot(Extent::kAll);
    EXPECT_TRUE(trace.validate().ok());
    std::vector<std::uint64_t> durations;
    for (std::size_t i = trace.ops.size() - 3; i < trace.ops.size(); ++i)
      durations.push_back(trace.ops[i].duration_ns);
    return durations;
  }
  testing::Feed feed;
};

TEST(OpMedians, TheFirstMeasuredIterationDoesNotCount) {
  Iterations job;
  job.run({9'000, 9'000, 9'000});
  job.run({10, 50, 30});
  job.run({12, 40, 32});
  job.run({90, 45, 31});
  EXPECT_EQ(job.last(), (std::vector<std::uint64_t>{12, 45, 31}))
      << "the second a is another op than the first";
}

TEST(OpMedians, ASingleIterationKeepsItsTimes) {
  Iterations job;
  job.feed.play("a|");
  job.run({10, 50, 30});
  EXPECT_EQ(job.last(), (std::vector<std::uint64_t>{10, 50, 30}));
}

TEST(OpMedians, WhatTheDeviceMeasuredBesideIsEvenedOutToo) {
  Iterations job;
  for (const std::uint64_t ns : {800u, 40u, 80u, 400u}) job.run({ns, ns, ns});
  const Trace trace = job.feed.recorder.snapshot(Extent::kAll);
  ASSERT_EQ(trace.on_device.size(), trace.ops.size());
  EXPECT_EQ(trace.on_device.back().copy_ns, 40u);
  EXPECT_EQ(trace.on_device.back().overlap_ns, 20u);
  EXPECT_EQ(trace.on_device.back().launches, 3u) << "each op keeps its own launches";
}

TEST(OpMedians, HostTimesStay) {
  Iterations job;
  job.run({1, 1, 1}, TimeSource::kHost);
  job.run({2, 2, 2}, TimeSource::kHost);
  job.run({7, 8, 9}, TimeSource::kHost);
  EXPECT_EQ(job.last(), (std::vector<std::uint64_t>{7, 8, 9}));
}

}  // namespace
}  // namespace stowage::tracer
