// The clock over a source: ops with their times, activities on the host's clock, and events once CUPTI is
// lost.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/tracer/cupti/fake_cupti.h"
#include "tracer/clocks/cupti_clock.h"

namespace stowage::tracer {
namespace {

using namespace cupti::testing;  // NOLINT(google-build-using-namespace): records by their kinds

/// A clock that times each op with 5 ns.
class FixedClock final : public OpClock {
 public:
  StartedOp start() override { return {.event = this}; }
  void stop(const StartedOp& started, OpId op) override {
    EXPECT_EQ(started.event, this);
    ended_.push_back(op);
  }
  ClockReading read(bool may_wait) override {
    waited |= may_wait;
    ClockReading reading;
    for (const OpId op : std::exchange(ended_, {})) reading.ops.push_back({op, 5, TimeSource::kEvents, {}});
    return reading;
  }
  bool waited = false;

 private:
  std::vector<OpId> ended_;
};

class CuptiClockTest : public ::testing::Test {
 protected:
  CuptiClockTest() {
    fake.time = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    options.others_record = [this] { return others; };
    source = *cupti::Source::join(fake.library(), options);
  }
  /// Runs an op with one launch, whose kernel takes [begin, end) after the start of the clock.
  void run(CuptiClock& clock, std::uint32_t op, std::uint64_t begin, std::uint64_t end) {
    const StartedOp started = clock.start();
    ++correlation;
    if (started.id != 0)
      fake.write({external(correlation, started.id), call(correlation),
                  kernel({correlation, fake.time + begin, fake.time + end})});
    clock.stop(started, OpId(op));
  }

  FakeCupti fake;
  cupti::SourceOptions options;
  std::shared_ptr<cupti::Source> source;
  std::shared_ptr<FixedClock> events = std::make_shared<FixedClock>();
  bool others = false;
  std::uint32_t correlation = 0;
};

TEST_F(CuptiClockTest, TimesOpsByTheirKernels) {
  CuptiClock clock(source, events, 0);
  EXPECT_EQ(clock.iterations(), 4u);
  run(clock, 3, 100, 140);
  run(clock, 4, 200, 270);
  const ClockReading reading = clock.read(true);
  EXPECT_TRUE(events->waited) << "records are complete only once the device is done";
  ASSERT_EQ(reading.ops.size(), 2u);
  EXPECT_EQ(reading.ops[0].op, OpId(3));
  EXPECT_EQ(reading.ops[0].duration_ns, 40u);
  EXPECT_EQ(reading.ops[0].source, TimeSource::kCupti);
  EXPECT_EQ(reading.ops[0].on_device.launches, 1u);
  EXPECT_EQ(reading.ops[1].duration_ns, 70u);
}

TEST_F(CuptiClockTest, ActivitiesNameTheirOpAndTheirKind) {
  CuptiClock clock(source, events, 0);
  run(clock, 8, 100, 140);
  fake.write({copy({50, fake.time + 10, fake.time + 20, 7, 0, 4096}), call(50, 41),
              memory_operation(51, 512, fake.time + 30)});
  const ClockReading reading = clock.read(true);
  ASSERT_EQ(reading.activities.size(), 5u);
  const auto of = [&](ActivityKind kind) {
    for (const Activity& activity : reading.activities)
      if (activity.kind == kind) return activity;
    return Activity{};
  };
  EXPECT_EQ(of(ActivityKind::kKernel).op, OpId(8));
  EXPECT_EQ(of(ActivityKind::kKernel).duration_ns, 40u);
  EXPECT_EQ(reading.names[of(ActivityKind::kKernel).name], "a_kernel");
  EXPECT_EQ(of(ActivityKind::kCall).thread, 99u);
  EXPECT_EQ(of(ActivityKind::kCopy).bytes, 4096u);
  EXPECT_EQ(of(ActivityKind::kCopy).op, kNoOp);
  EXPECT_EQ(of(ActivityKind::kMemory).bytes, 512u);
}

TEST_F(CuptiClockTest, WorkOfAnotherDeviceIsNotItsOwn) {
  CuptiClock clock(source, events, 0);
  CuptiClock other(source, std::make_shared<FixedClock>(), 1);
  run(clock, 8, 100, 140);
  EXPECT_EQ(other.read(true).ops.size(), 0u);
  fake.write({kernel({9, fake.time + 1, fake.time + 2, 7, /*device=*/1}), call(9)});
  const ClockReading reading = clock.read(true);
  for (const Activity& activity : reading.activities) {
    if (activity.kind == ActivityKind::kKernel) {
      EXPECT_EQ(activity.op, OpId(8));
    }
  }
}

TEST_F(CuptiClockTest, EventsTimeWhatFollowsWhereAnotherProfilerBegins) {
  CuptiClock clock(source, events, 0);
  run(clock, 1, 100, 140);
  static_cast<void>(clock.read(true));
  const StartedOp open = clock.start();
  others = true;
  fake.take_over();
  run(clock, 2, 200, 240);
  clock.stop(open, OpId(3));  // its kernels went to the other profiler
  const ClockReading reading = clock.read(true);
  ASSERT_EQ(reading.ops.size(), 2u);
  EXPECT_EQ(reading.ops[0].op, OpId(2));
  EXPECT_EQ(reading.ops[0].source, TimeSource::kEvents);
  EXPECT_EQ(reading.ops[1].op, OpId(1)) << "what CUPTI had delivered before counts";
  EXPECT_EQ(reading.ops[1].duration_ns, 40u);
}

TEST_F(CuptiClockTest, AnOpThatNobodyWantsIsNotTold) {
  CuptiClock clock(source, events, 0);
  run(clock, kNoOp.value(), 100, 140);
  EXPECT_TRUE(clock.read(true).ops.empty());
}

}  // namespace
}  // namespace stowage::tracer
