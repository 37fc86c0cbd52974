// The observers behind a few C functions, so that Python tests and measurements can load them into a real
// torch process.
#include <atomic>
#include <memory>

#include "tests/tracer/feeding_allocator.h"
#include "tracer/observers/op_observer.h"
#include "tracer/observers/step_observer.h"

namespace {

using namespace stowage;
using namespace stowage::tracer;

std::atomic<int> begins{0};
std::atomic<int> ends{0};
std::atomic<int> marks{0};
std::shared_ptr<Recorder> recorder;
std::unique_ptr<testing::FeedingAllocator> allocator;

}  // namespace

#define PROBE extern "C" __attribute__((visibility("default")))

/// Counts optimizer steps from 0 on; marks the recording if there is one.
PROBE void probe_observe_steps() {
  begins = ends = 0;
  marks = 0;
  start_observing_steps({[] { ++begins; }, [] { ++ends; },
                         [](MarkSource source) {
                           ++marks;
                           if (recorder) recorder->on_mark(source);
                         }});
}
PROBE void probe_ignore_steps() { stop_observing_steps(); }
PROBE int probe_begins() { return begins; }
PROBE int probe_ends() { return ends; }
PROBE int probe_marks() { return marks; }

/// Records the CPU: allocations always, ops if `with_ops`. Once per process: buffers alive keep the allocator
/// in use.
PROBE void probe_record(int with_ops) {
  if (!recorder) {
    recorder = std::make_shared<Recorder>(TraceInfo{});
    allocator = std::make_unique<testing::FeedingAllocator>(recorder.get());
  }
  if (with_ops != 0) start_observing_ops(c10::Device(c10::kCPU), {recorder, nullptr, nullptr});
}
PROBE void probe_ignore_ops() { stop_observing_ops(c10::Device(c10::kCPU)); }
PROBE int probe_period_marks() { return static_cast<int>(recorder->period_marks()); }
/// Ops of the steady window, or -1 when the snapshot is not valid.
PROBE int probe_steady_ops() {
  const Trace trace = recorder->snapshot();
  if (!trace.validate().ok() || !trace.steady) return -1;
  int count = 0;
  for (const Op& op : trace.ops)
    count += op.begin >= trace.steady->begin && op.begin < trace.steady->end ? 1 : 0;
  return count;
}
