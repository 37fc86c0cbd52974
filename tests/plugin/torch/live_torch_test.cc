// What sessions hear of torch, and that torch pays nothing for it once no session listens.
#include "plugin/torch/live_torch.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tests/session/fake_port.h"
#include "tracer/clocks/op_clock.h"
#include "tracer/recorder/recorder.h"

namespace stowage::plugin {
namespace {

bool is_observed(at::RecordScope scope) { return at::getStepCallbacksUnlessEmpty(scope).has_value(); }

// One iteration that allocates `count` times, with an optimizer step as torch.optim tells of it.
void iterate(session::FakeJob& job, int count) {
  std::vector<void*> live;
  for (int i = 0; i < count; ++i) live.push_back(job.allocate(1000u * static_cast<unsigned>(i + 1)));
  for (void* address : live) job.free(address);
  at::RecordFunction guard(at::RecordScope::USER_SCOPE);
  if (guard.isActive()) guard.before("Optimizer.step#AdamW.step");
}

TEST(LiveTorch, IsLeftAloneOnceNoSessionListens) {
  live_torch().watch_steps();
  session::FakePort port;
  session::Settings settings;
  settings.record_iterations = 4;
  settings.online = false;
  settings.plan_wait_ms = 60'000;
  session::Session first(port, live_torch(), settings);
  session::FakeJob job(port, first);
  EXPECT_TRUE(is_observed(at::RecordScope::USER_SCOPE));
  for (int i = 0; i < 4; ++i) iterate(job, 3 + i);
  EXPECT_EQ(first.state(), session::SessionState::kOff);
  EXPECT_FALSE(is_observed(at::RecordScope::USER_SCOPE));
  EXPECT_FALSE(is_observed(at::RecordScope::FUNCTION));

  session::Session second(port, live_torch(), settings);  // and it hears of steps again
  session::FakeJob next(port, second);
  for (int i = 0; i < 2; ++i) iterate(next, 3);
  EXPECT_TRUE(is_observed(at::RecordScope::FUNCTION));
  iterate(next, 3);
  EXPECT_EQ(second.state(), session::SessionState::kPlanned);
  EXPECT_FALSE(is_observed(at::RecordScope::FUNCTION));
  EXPECT_TRUE(is_observed(at::RecordScope::USER_SCOPE));
}

TEST(LiveTorch, CallsNothingBetweenOpsWhereThereIsNoPython) {
  EXPECT_FALSE(live_torch().call_between_ops([] { FAIL() << "nobody could call this"; }));
}

// A device whose clock tells durations later, and on which everything runs on stream 3.
struct StreamPort : session::FakePort {
  struct Clock final : tracer::OpClock {
    [[nodiscard]] std::uint32_t iterations() const override { return 3; }
    tracer::StartedOp start() override { return {}; }
    void stop(const tracer::StartedOp&, OpId op) override { ended.push_back(op); }
    tracer::ClockReading read(bool may_wait) override {
      tracer::ClockReading reading;
      if (!may_wait) return reading;
      for (const OpId op : std::exchange(ended, {})) reading.ops.push_back({op, 17, TimeSource::kEvents, {}});
      return reading;
    }
    std::vector<OpId> ended;
  };
  std::shared_ptr<tracer::OpClock> make_op_clock() override { return std::make_shared<Clock>(); }
  StreamId current_stream() override { return StreamId(3); }
};

TEST(LiveTorch, TakesAnOpsStreamAndDurationFromTheDevicesPort) {
  StreamPort port;
  const auto recorder = std::make_shared<tracer::Recorder>(TraceInfo());
  EXPECT_EQ(live_torch().observe_ops(recorder, Device{}, port), 3u);
  const at::Tensor ones = at::ones({4});
  live_torch().finish_ops(*recorder, Device{});
  const Trace trace = recorder->snapshot(tracer::Extent::kAll);
  ASSERT_FALSE(trace.ops.empty());
  EXPECT_EQ(trace.ops[0].stream, StreamId(3));
  EXPECT_EQ(trace.ops[0].duration_ns, 17u);
  EXPECT_EQ(trace.ops[0].timed_by, TimeSource::kEvents);
  EXPECT_GT(trace.ops[0].end_ns, trace.ops[0].begin_ns);
}

}  // namespace
}  // namespace stowage::plugin
