// Each rule of StepLog::validate() broken once, in an otherwise sound log, and found.
#include "core/step_log.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace stowage {
namespace {

/// One op that reads a buffer from before and makes another one.
StepLog sound_log() {
  StepLog log;
  Buffer before;
  before.bytes = before.rounded = Bytes(512);
  before.preexisting = true;
  Buffer made = before;
  made.preexisting = false;
  made.birth = Tick(2);
  log.trace.names = {"op"};
  log.trace.buffers = {before, made};
  Op op;
  op.begin = Tick(1);
  op.end = Tick(3);
  op.input_count = op.output_count = 1;
  log.trace.ops = {op};
  log.trace.values = {{BufferId(0), 0}, {BufferId(1), 0}};
  log.trace.end = Tick(4);
  log.stays = {Stay::kBefore, Stay::kMayGo};
  log.pinned_from = {kNoOp, kNoOp};
  log.roles = {ValueRole::kRead, ValueRole::kMade};
  log.shape_hashes = {7};
  log.replay_extra = {Bytes(0)};
  log.made = {BufferId(1)};
  return log;
}

struct Violation {
  const char* name;
  std::function<void(StepLog&)> break_it;
  const char* message;  ///< a part of the error's
};

class StepLogRule : public ::testing::TestWithParam<Violation> {};

TEST_P(StepLogRule, IsFoundWhenBroken) {
  StepLog log = sound_log();
  ASSERT_TRUE(log.validate().ok()) << log.validate().error().message;
  GetParam().break_it(log);
  const Status status = log.validate();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnplannable);
  EXPECT_NE(status.error().message.find(GetParam().message), std::string::npos) << status.error().message;
}

const Violation kViolations[] = {
    {"Trace", [](StepLog& l) { l.trace.ops[0].name = 5; }, "its name is not in the trace"},
    {"Stays", [](StepLog& l) { l.stays.pop_back(); }, "reason to stay"},
    {"Pinned", [](StepLog& l) { l.pinned_from.pop_back(); }, "when it is pinned"},
    {"Roles", [](StepLog& l) { l.roles.pop_back(); }, "its role"},
    {"Shapes", [](StepLog& l) { l.shape_hashes.clear(); }, "its shape"},
    {"Extras", [](StepLog& l) { l.replay_extra.clear(); }, "its shape"},
    {"OpenOp", [](StepLog& l) { l.trace.ops[0].end = kNever; }, "does not end"},
    {"NoBuffer", [](StepLog& l) { l.trace.values[0].buffer = kNoBuffer; }, "uses no buffer"},
    {"InputRole", [](StepLog& l) { l.roles[0] = ValueRole::kMade; }, "does not fit"},
    {"OutputRole", [](StepLog& l) { l.roles[1] = ValueRole::kRead; }, "does not fit"},
    {"UnknownRole", [](StepLog& l) { l.roles[1] = ValueRole{9}; }, "does not fit"},
    {"MadeBefore", [](StepLog& l) { l.made[0] = BufferId(0); }, "a made buffer"},
    {"MadeNowhere", [](StepLog& l) { l.made[0] = BufferId(2); }, "a made buffer"},
};
INSTANTIATE_TEST_SUITE_P(Each, StepLogRule, ::testing::ValuesIn(kViolations),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(ReplayedTime, IsThatOfTheIterationsOpsOfTheSameShape) {
  StepLog log;
  log.trace.ops.resize(3);
  log.shape_hashes = {1, 2, 1};
  log.trace.ops[0].duration_ns = 10;
  log.trace.ops[1].duration_ns = 100;
  log.trace.ops[2].duration_ns = 30;
  EXPECT_EQ(replayed_ns(log), 0u);
  log.replayed = {1, 2, 2};
  EXPECT_EQ(replayed_ns(log), 220u);
  log.replayed = {1, 7};
  EXPECT_EQ(replayed_ns(log), 40u) << "an op that the iteration does not have is as long as the others";
  log.replayed = {7};
  EXPECT_EQ(replayed_ns(log), 0u);
}

TEST(OpTimes, OfOpsThatEncodeAreNotTheJobs) {
  StepLog log = sound_log();
  log.trace.names = {"aten::relu", "stowage::pack_bits"};
  log.trace.ops.resize(3, log.trace.ops[0]);
  log.trace.ops[0].duration_ns = 100;
  log.trace.ops[1].duration_ns = 20;
  log.trace.ops[1].name = 1;
  log.trace.ops[2].duration_ns = 3;
  log.trace.ops[2].parent = OpId(1);
  EXPECT_EQ(ops_ns(log), 100u);
  EXPECT_EQ(encode_ns(log), 20u);
}

TEST(HostTimes, OfOneShapeAreTheMedianOfTheirIteration) {
  StepLog log;
  log.trace.ops.resize(6);
  log.shape_hashes = {1, 1, 1, 2, 2, 1};
  const std::uint64_t times[] = {10, 14'000, 12, 7, 90, 5};
  for (std::size_t op = 0; op < 6; ++op) {
    log.trace.ops[op].duration_ns = times[op];
    log.trace.ops[op].timed_by = op == 5 ? TimeSource::kCupti : TimeSource::kHost;
  }
  even_out_host_times(log);
  const std::uint64_t evened[] = {12, 12, 12, 7, 7, 5};
  for (std::size_t op = 0; op < 6; ++op) EXPECT_EQ(log.trace.ops[op].duration_ns, evened[op]) << op;
}

}  // namespace
}  // namespace stowage
