// Each rule of Trace::validate() broken once, in an otherwise sound trace, and found.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/trace.h"
#include "tests/core/random_trace.h"

namespace stowage {
namespace {

Buffer make_buffer(std::uint64_t birth, std::uint64_t death) {
  Buffer buffer;
  buffer.bytes = Bytes(500);
  buffer.rounded = Bytes(512);
  buffer.birth = Tick(birth);
  buffer.free_requested = buffer.death = Tick(death);
  return buffer;
}

/// Two buffers, a nested pair of ops with three values, two marks, a steady window, two activities and two
/// phases.
Trace sound_trace() {
  Trace trace;
  trace.names = {"aten::mm", "aten::add"};
  trace.buffers = {make_buffer(1, 5), make_buffer(3, 8)};
  trace.values = {{BufferId(0), 0}, {BufferId(1), 1}, {kNoBuffer, 0}};
  Op outer{
      .name = 0, .begin = Tick(2), .end = Tick(7), .first_value = 0, .input_count = 2, .output_count = 1};
  Op inner{
      .name = 1, .parent = OpId(0), .begin = Tick(4), .end = Tick(6), .first_value = 1, .input_count = 1};
  trace.ops = {outer, inner};
  trace.buffers[1].op = OpId(0);
  trace.marks = {{Tick(9), MarkSource::kOptimizer}, {Tick(10), MarkSource::kUser}};
  trace.steady = SteadyWindow{Tick(0), Tick(5), Tick(10)};
  trace.end = Tick(12);
  trace.on_device.resize(2);
  trace.activities = {
      {.kind = ActivityKind::kCall, .name = 1, .op = OpId(1), .begin_ns = 3, .duration_ns = 2},
      {.kind = ActivityKind::kKernel, .begin_ns = 4, .duration_ns = 10}};
  trace.phases = {{0, 1}, {1, 20}};
  return trace;
}

struct Violation {
  const char* name;
  std::function<void(Trace&)> break_it;
  const char* message;  ///< a part of the error's
};

class TraceRule : public ::testing::TestWithParam<Violation> {};

TEST_P(TraceRule, IsFoundWhenBroken) {
  Trace trace = sound_trace();
  ASSERT_TRUE(trace.validate().ok()) << trace.validate().error().message;
  GetParam().break_it(trace);
  const Status status = trace.validate();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnplannable);
  EXPECT_NE(status.error().message.find(GetParam().message), std::string::npos) << status.error().message;
}

const Violation kWhole[] = {
    {"DeviceKind", [](Trace& t) { t.info.device.kind = DeviceKind{2}; }, "kind is not known"},
    {"DeviceIndex", [](Trace& t) { t.info.device.index = kMaxOrdinal; }, "index is out of range"},
    {"End", [](Trace& t) { t.end = kNever; }, "never comes"},
    {"SteadyPrevious", [](Trace& t) { t.steady->previous_begin = Tick(5); }, "steady"},
    {"SteadyBegin", [](Trace& t) { t.steady->begin = Tick(10); }, "steady"},
    {"SteadyEnd", [](Trace& t) { t.steady->end = Tick(13); }, "steady"},
    {"ValueBuffer", [](Trace& t) { t.values[1].buffer = BufferId(2); }, "value 1: its buffer"},
    {"MarkSource", [](Trace& t) { t.marks[0].source = MarkSource{3}; }, "mark 0: its source"},
    {"MarkEnd", [](Trace& t) { t.marks[1].tick = Tick(12); }, "mark 1: it is not before"},
    {"MarkOrder", [](Trace& t) { t.marks[1].tick = Tick(9); }, "mark 1: it is not after"},
};

const Violation kBuffer[] = {
    {"RoundedZero", [](Trace& t) { t.buffers[0].rounded = t.buffers[0].bytes = Bytes(0); }, "is 0"},
    {"RoundedGranule", [](Trace& t) { t.buffers[0].rounded = Bytes(513); }, "not a multiple of 512"},
    {"RoundedSmall", [](Trace& t) { t.buffers[0].bytes = Bytes(513); }, "less than the size"},
    {"Total", [](Trace& t) { t.buffers[0].rounded = t.buffers[1].rounded = Bytes(std::uint64_t{1} << 62); },
     "2^62"},
    {"PreexistingBirth", [](Trace& t) { t.buffers[0].preexisting = true; }, "birth is not 0"},
    {"BirthEnd", [](Trace& t) { t.buffers[1] = make_buffer(12, 13); }, "birth is not before"},
    {"FreeAfterEnd", [](Trace& t) { t.buffers[0].free_requested = Tick(13), t.buffers[0].death = kNever; },
     "requested after"},
    {"FreeBeforeBirth", [](Trace& t) { t.buffers[1].free_requested = Tick(2); },
     "requested before its birth"},
    {"DeathBeforeFree", [](Trace& t) { t.buffers[0].free_requested = Tick(6); }, "death is before"},
    {"DeathWithoutFree", [](Trace& t) { t.buffers[0].free_requested = kNever; }, "death is before"},
    {"DeathEnd", [](Trace& t) { t.buffers[0].death = Tick(12); }, "death is not before"},
    {"DeathAtBirth", [](Trace& t) { t.buffers[0] = make_buffer(1, 1); }, "death is at its birth"},
    {"Stream", [](Trace& t) { t.buffers[0].stream = StreamId(kMaxOrdinal); }, "stream is out of range"},
    {"Thread", [](Trace& t) { t.buffers[0].thread = kMaxOrdinal; }, "thread is out of range"},
    {"Op", [](Trace& t) { t.buffers[0].op = OpId(2); }, "op is not in the trace"},
    {"Order", [](Trace& t) { std::swap(t.buffers[0], t.buffers[1]); }, "born before its predecessor"},
    {"SameBirth", [](Trace& t) { t.buffers[1].birth = Tick(1); }, "same tick"},
};

const Violation kOp[] = {
    {"Name", [](Trace& t) { t.ops[1].name = 2; }, "op 1: its name"},
    {"Flags", [](Trace& t) { t.ops[0].flags = kOpNondeterministic << 1u; }, "flag"},
    {"Thread", [](Trace& t) { t.ops[0].thread = kMaxOrdinal; }, "thread is out of range"},
    {"Stream", [](Trace& t) { t.ops[0].stream = StreamId(kMaxOrdinal); }, "stream is out of range"},
    {"Parent", [](Trace& t) { t.ops[1].parent = OpId(1); }, "parent"},
    {"BeginEnd", [](Trace& t) { t.ops[1].begin = Tick(12), t.ops[1].end = kNever; }, "begin is not before"},
    {"EndBeforeBegin", [](Trace& t) { t.ops[1].end = Tick(3); }, "ends before it begins"},
    {"EndEnd", [](Trace& t) { t.ops[1].end = Tick(12); }, "end is not before"},
    {"Order", [](Trace& t) { t.ops[1].begin = Tick(1); }, "begins before its predecessor"},
    {"Values", [](Trace& t) { t.ops[1].output_count = 2; }, "values are not in the trace"},
    {"ValuesWrap", [](Trace& t) { t.ops[1].first_value = ~0u, t.ops[1].input_count = 2; },
     "values are not in the trace"},
};

const Violation kDevice[] = {
    {"TimedBy", [](Trace& t) { t.ops[0].timed_by = TimeSource{5}; }, "op 0: what timed it"},
    {"CallEnd", [](Trace& t) { t.ops[1].begin_ns = 1; }, "op 1: its call ends"},
    {"Rows", [](Trace& t) { t.on_device.resize(1); }, "not each has its row"},
    {"Kind", [](Trace& t) { t.activities[0].kind = ActivityKind{7}; }, "activity 0: its kind"},
    {"Name", [](Trace& t) { t.activities[1].name = 2; }, "activity 1: its name"},
    {"Op", [](Trace& t) { t.activities[0].op = OpId(2); }, "activity 0: its op"},
    {"Duration", [](Trace& t) { t.activities[0].duration_ns = ~std::uint64_t{0}; }, "time is out of range"},
    {"Begin", [](Trace& t) { t.activities[1].begin_ns = ~std::uint64_t{0}; }, "time is out of range"},
    {"Order", [](Trace& t) { t.activities[1].begin_ns = 2; }, "activity 1: it begins before"},
    {"PhaseName", [](Trace& t) { t.phases[0].name = 2; }, "phase 0: its name"},
    {"PhaseOrder", [](Trace& t) { t.phases[1].begin_ns = 0; }, "phase 1: it begins before"},
};

std::string name_of(const ::testing::TestParamInfo<Violation>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Whole, TraceRule, ::testing::ValuesIn(kWhole), name_of);
INSTANTIATE_TEST_SUITE_P(Buffer, TraceRule, ::testing::ValuesIn(kBuffer), name_of);
INSTANTIATE_TEST_SUITE_P(Op, TraceRule, ::testing::ValuesIn(kOp), name_of);
INSTANTIATE_TEST_SUITE_P(Device, TraceRule, ::testing::ValuesIn(kDevice), name_of);

TEST(TraceValidate, AcceptsWhatIsOpenAtTheEnd) {
  Trace trace = sound_trace();
  trace.buffers[1].death = kNever;
  trace.ops[0].end = kNever;
  trace.steady.reset();
  EXPECT_TRUE(trace.validate().ok());
  trace.buffers[1].free_requested = kNever;
  EXPECT_TRUE(trace.validate().ok());
}

TEST(TraceValidate, AcceptsAPreexistingBufferFreedAtTickZero) {
  Trace trace;
  trace.buffers = {make_buffer(0, 0)};
  trace.buffers[0].preexisting = true;
  trace.end = Tick(1);
  EXPECT_TRUE(trace.validate().ok());
}

TEST(TraceValidate, AcceptsNothingAtAll) { EXPECT_TRUE(Trace().validate().ok()); }

TEST(TraceValidate, AcceptsRandomTraces) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Status status = testing::random_trace(seed).validate();
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message;
  }
}

}  // namespace
}  // namespace stowage
