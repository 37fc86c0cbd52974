#include "session/recording/recording.h"

#include <gtest/gtest.h>

#include "tests/session/recording/recorded_iterations.h"

namespace stowage::session {
namespace {

using Verdict = Recording::Verdict;

struct RecordingTest : testing::Test, RecordedIterations {
  Verdict judged(const std::vector<std::uint64_t>& sizes, bool ops_wanted = true) {
    EXPECT_TRUE(iterate(sizes));
    return recording.judge(ops_wanted);
  }
};

TEST_F(RecordingTest, IsHeardOfOnlyWhileItIsOn) {
  EXPECT_FALSE(recording.is_on());
  recording.start(true);
  EXPECT_EQ(hot.load(), &recording.recorder());
  recording.stop();
  EXPECT_EQ(hot.load(), nullptr);
  EXPECT_FALSE(recording.is_on());
}

TEST_F(RecordingTest, TwoWindowsThatAgreeAndOneWithOpsAreEnough) {
  recording.start(true);
  EXPECT_EQ(judged({100, 2000}), Verdict::kGoOn);
  EXPECT_EQ(judged({100, 300}), Verdict::kGoOn);
  EXPECT_EQ(judged({100, 300}), Verdict::kGoOn) << "now ops are written down, too";
  EXPECT_EQ(judged({100, 300}), Verdict::kSteady);
  EXPECT_EQ(recording.window_marks(), 1u);
}

TEST_F(RecordingTest, WithoutOpsTwoWindowsAreEnough) {
  recording.start(true);
  EXPECT_EQ(judged({100, 300}, false), Verdict::kGoOn);
  EXPECT_EQ(judged({100, 300}, false), Verdict::kSteady);
  settings.record_ops = false;
  recording.start(false);
  EXPECT_EQ(judged({100, 300}), Verdict::kGoOn);
  EXPECT_EQ(judged({100, 300}), Verdict::kSteady);
}

TEST_F(RecordingTest, IsHopelessAfterAsManyIterationsAsTheSettingsAllow) {
  settings.record_iterations = 5;
  recording.start(true);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(judged({100, 1000 + 512 * i}), Verdict::kGoOn);
  EXPECT_EQ(judged({100, 8000}), Verdict::kHopeless);
  EXPECT_EQ(recording.marks(), 5u);
}

TEST_F(RecordingTest, OpsOfAJobThatRepeatsItselfNowAndThenAreWaitedForNotForGood) {
  settings.record_iterations = 1000;
  recording.start(true);
  int marks = 0;
  for (Verdict verdict = Verdict::kGoOn; verdict != Verdict::kSteady && marks < 200; ++marks) {
    const auto odd = static_cast<std::uint64_t>(marks);
    verdict = judged(marks % 3 == 2 ? std::vector<std::uint64_t>{1000 + 512 * odd}
                                    : std::vector<std::uint64_t>{100, 200});
  }
  EXPECT_LT(marks, 200) << "it is planned without ops in the end";
}

TEST_F(RecordingTest, AMarkWithoutAllocationsDoesNotCount) {
  recording.start(true);
  EXPECT_TRUE(iterate({100}));
  EXPECT_FALSE(recording.on_mark(MarkSource::kOptimizer));
  EXPECT_EQ(recording.marks(), 1u);
}

TEST_F(RecordingTest, WhatWasForgottenAgreesWithNothing) {
  recording.start(true);
  EXPECT_EQ(judged({100, 300}, false), Verdict::kGoOn);
  recording.forget();
  EXPECT_EQ(recording.marks(), 0u);
  EXPECT_EQ(judged({100, 300}, false), Verdict::kGoOn);
  EXPECT_EQ(judged({100, 300}, false), Verdict::kSteady);
}

TEST_F(RecordingTest, ANewRecorderKnowsOfNothingEarlierAndTheOldOneStaysValid) {
  recording.start(true);
  tracer::Recorder* const old = hot.load();
  iterate({100, 300});
  recording.start(false);
  EXPECT_NE(hot.load(), old);
  EXPECT_EQ(recording.marks(), 0u);
  old->on_alloc(reinterpret_cast<void*>(0x1000), Bytes(512), Bytes(512), StreamId(0));  // a late caller
  EXPECT_TRUE(recording.finish().buffers.empty());
}

TEST_F(RecordingTest, GivesAllThatIsKept) {
  recording.start(true);
  for (int i = 0; i < 4; ++i) recording.on_mark(MarkSource::kOptimizer), iterate({100, 300});
  const Trace trace = recording.finish();
  EXPECT_EQ(trace.buffers.size(), 8u);
  EXPECT_TRUE(trace.steady.has_value());
}

}  // namespace
}  // namespace stowage::session
