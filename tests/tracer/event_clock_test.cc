// The event clock on a made-up device, whose events pass when the test says so.
#include "tracer/clocks/event_clock.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

namespace stowage::tracer {
namespace {

/// A device with one stream, whose clock the test turns.
class MadeUpDevice final : public c10::impl::DeviceGuardImplInterface {
 public:
  struct Event {
    double at_ms = 0;
  };

  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::Device exchangeDevice(c10::Device device) const override { return device; }
  c10::Device getDevice() const override { return {c10::kCUDA, 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    TORCH_CHECK(!broken, "the device is gone");
    if (*event == nullptr) {
      *event = new Event;
      ++alive;
      ++made;
    }
    static_cast<Event*>(*event)->at_ms = now_ms;
  }
  bool queryEvent(void* event) const override { return static_cast<Event*>(event)->at_ms <= passed_ms; }
  double elapsedTime(void* first, void* second, const c10::DeviceIndex) const override {
    return static_cast<Event*>(second)->at_ms - static_cast<Event*>(first)->at_ms;
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
    --alive;
  }

  void synchronizeDevice(const c10::DeviceIndex) const override { passed_ms = now_ms; }

  double now_ms = 0;
  mutable double passed_ms = 0;
  bool broken = false;
  mutable int alive = 0;
  mutable int made = 0;
};

using Told = std::map<std::uint32_t, std::uint64_t>;

class EventClockTest : public ::testing::Test {
 protected:
  void run_op(std::uint32_t op, double ms) {
    const StartedOp started = clock->start();
    device.now_ms += ms;
    clock->stop(started, OpId(op));
  }
  Told read(bool may_wait = false) {
    Told told;
    for (const OpTimes& op : clock->read(may_wait).ops) {
      EXPECT_EQ(op.source, TimeSource::kEvents);
      told[op.op.value()] = op.duration_ns;
    }
    return told;
  }

  MadeUpDevice device;
  std::unique_ptr<EventClock> clock = std::make_unique<EventClock>(c10::Device(c10::kCUDA, 0), &device, 4);
};

TEST_F(EventClockTest, tells_durations_once_their_events_have_passed) {
  run_op(1, 2.0);
  run_op(2, 0.5);
  EXPECT_EQ(read(), Told{}) << "the device has done nothing yet";
  device.passed_ms = 2.0;
  EXPECT_EQ(read(), (Told{{1, 2'000'000}}));
  device.passed_ms = 9.0;
  EXPECT_EQ(read(), (Told{{2, 500'000}})) << "each op is told of once";
}

TEST_F(EventClockTest, waits_for_the_device_where_it_may) {
  run_op(1, 2.0);
  EXPECT_EQ(read(/*may_wait=*/true), (Told{{1, 2'000'000}}));
}

TEST_F(EventClockTest, uses_events_again_and_gives_all_back) {
  for (std::uint32_t op = 0; op < 50; ++op) {
    run_op(op, 1.0);
    device.passed_ms = device.now_ms;
    EXPECT_EQ(read().size(), 1u);
  }
  EXPECT_EQ(device.made, 2);
  run_op(99, 1.0);
  clock.reset();
  EXPECT_EQ(device.alive, 0);
}

TEST_F(EventClockTest, ops_beyond_the_bound_have_no_duration) {
  for (std::uint32_t op = 0; op < 10; ++op) run_op(op, 1.0);
  device.passed_ms = 100;
  EXPECT_EQ(read().size(), 4u);
}

TEST_F(EventClockTest, a_device_that_fails_costs_the_duration_and_nothing_else) {
  device.broken = true;
  EXPECT_NO_THROW(run_op(1, 1.0));
  device.broken = false;
  const StartedOp started = clock->start();
  device.broken = true;
  clock->stop(started, OpId(2));
  device.passed_ms = 100;
  EXPECT_EQ(read(), Told{});
  clock.reset();
  EXPECT_EQ(device.alive, 0);
}

}  // namespace
}  // namespace stowage::tracer
