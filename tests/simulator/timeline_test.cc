#include "simulator/device/time/timeline.h"

#include <gtest/gtest.h>

#include <random>

namespace stowage::simulator {
namespace {

TEST(Timeline, WorkBeginsWhenIssuedAndWhenTheStreamIsFree) {
  Timeline timeline(1);
  Stream* const stream = timeline.create_stream(0, false, 0);
  timeline.pass_host_time(100);
  EXPECT_EQ(timeline.enqueue(stream, 50), 150);
  timeline.pass_host_time(10);
  EXPECT_EQ(timeline.enqueue(stream, 50), 200);
  timeline.wait_until(1000);
  EXPECT_EQ(timeline.enqueue(stream, 50), 1050);
}

TEST(Timeline, AnEventIsCompleteWhenTheHostReachesIt) {
  Timeline timeline(1);
  Stream* const stream = timeline.create_stream(0, false, 0);
  Event* const event = timeline.create_event(0, true);
  EXPECT_TRUE(timeline.is_complete(event));
  timeline.enqueue(stream, 500);
  timeline.record(event, stream);
  timeline.enqueue(stream, 500);
  EXPECT_FALSE(timeline.is_complete(event));
  timeline.pass_host_time(499);
  EXPECT_FALSE(timeline.is_complete(event));
  timeline.pass_host_time(1);
  EXPECT_TRUE(timeline.is_complete(event));
}

TEST(Timeline, AWaitOrdersOnlyItsStream) {
  Timeline timeline(1);
  Stream* const producer = timeline.create_stream(0, false, 0);
  Stream* const consumer = timeline.create_stream(0, false, 0);
  Stream* const bystander = timeline.create_stream(0, false, 0);
  Event* const event = timeline.create_event(0, true);
  timeline.enqueue(producer, 500);
  timeline.record(event, producer);
  timeline.hold(consumer, event);
  EXPECT_EQ(timeline.enqueue(consumer, 10), 510);
  EXPECT_EQ(timeline.enqueue(bystander, 10), 10);
}

TEST(Timeline, TheLegacyStreamAndBlockingStreamsWaitForEachOther) {
  Timeline timeline(2);
  Stream* const blocking = timeline.create_stream(0, true, 0);
  Stream* const free_running = timeline.create_stream(0, false, 0);
  timeline.enqueue(blocking, 100);
  timeline.enqueue(free_running, 1000);
  EXPECT_EQ(timeline.enqueue(timeline.legacy_stream(0), 10), 110);
  EXPECT_EQ(timeline.enqueue(blocking, 10), 120);
  EXPECT_EQ(timeline.enqueue(free_running, 10), 1010);
  EXPECT_EQ(timeline.enqueue(timeline.legacy_stream(1), 10), 10);
}

TEST(Timeline, ADestroyedStreamsWorkStillCountsForItsDevice) {
  Timeline timeline(1);
  Stream* const stream = timeline.create_stream(0, false, 0);
  timeline.enqueue(stream, 700);
  EXPECT_TRUE(timeline.destroy_stream(stream));
  EXPECT_FALSE(timeline.destroy_stream(stream));
  EXPECT_EQ(timeline.device_done_ns(0), 700);
}

TEST(Timeline, NoClockGoesBackInARandomProgram) {
  Timeline timeline(1);
  std::mt19937 random(3);
  std::vector<Stream*> streams{timeline.legacy_stream(0)};
  for (int made = 0; made < 4; ++made) streams.push_back(timeline.create_stream(0, made % 2 == 0, 0));
  Event* const event = timeline.create_event(0, true);
  for (int step = 0; step < 10000; ++step) {
    Stream* const stream = streams[random() % streams.size()];
    const VirtualNs stream_before = stream->done_ns;
    const VirtualNs host_before = timeline.host_ns();
    switch (random() % 4) {
      case 0:
        EXPECT_GE(timeline.enqueue(stream, random() % 100), timeline.host_ns());
        break;
      case 1:
        timeline.record(event, stream);
        break;
      case 2:
        timeline.hold(stream, event);
        break;
      default:
        timeline.wait_until(timeline.done_ns(stream));
        break;
    }
    EXPECT_GE(stream->done_ns, stream_before);
    EXPECT_GE(timeline.host_ns(), host_before);
  }
}

}  // namespace
}  // namespace stowage::simulator
