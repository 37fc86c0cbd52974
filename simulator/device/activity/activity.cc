#include "simulator/device/activity/activity.h"

namespace stowage::simulator {
namespace {

std::atomic<ActivitySink*> the_sink{nullptr};

}  // namespace

void set_activity_sink(ActivitySink* sink) { the_sink.store(sink, std::memory_order_release); }

ActivitySink* activity_sink() { return the_sink.load(std::memory_order_acquire); }

ApiCall& current_call() {
  thread_local ApiCall call;
  return call;
}

}  // namespace stowage::simulator
