#include "session/switch/early_steps.h"

#include <gtest/gtest.h>

#include "tests/session/arena/arena_on_host.h"

namespace stowage::session {
namespace {

constexpr std::uint64_t kManyMarks = 100;

struct EarlyStepsTest : testing::Test, ArenaOnHost {
  /// True if the step is an early one.
  bool step(SessionState now, std::uint64_t marks) {
    steps.begin(now, marks);
    const bool inside = steps.inside();
    EXPECT_EQ(steps.end(), inside);
    EXPECT_FALSE(steps.inside());
    return inside;
  }
  EarlySteps steps{port, *arena};
};

TEST_F(EarlyStepsTest, AreTheFirstTwoOfAJob) {
  EXPECT_TRUE(step(SessionState::kPlanned, kManyMarks));
  EXPECT_TRUE(step(SessionState::kRecording, kManyMarks));
  EXPECT_FALSE(step(SessionState::kRecording, kManyMarks));
  EXPECT_FALSE(step(SessionState::kPlanned, 0));
  EXPECT_EQ(port.parts, 4) << "each begins and ends";
}

TEST_F(EarlyStepsTest, AreAlsoThoseOfARecordingsFirstMarks) {
  for (int i = 0; i < 2; ++i) step(SessionState::kOff, kManyMarks);
  EXPECT_TRUE(step(SessionState::kRecording, 1));
  EXPECT_FALSE(step(SessionState::kRecording, 2));
}

TEST_F(EarlyStepsTest, AreNoneWhileAPlanIsMade) {
  EXPECT_FALSE(step(SessionState::kPlanning, 0));
  EXPECT_EQ(port.parts, 0);
}

TEST_F(EarlyStepsTest, AreNotServedFromTheArena) {
  ASSERT_TRUE(arena->serve({plan_of(2)}).ok());
  arena->resume();
  steps.begin(SessionState::kPlanned, kManyMarks);
  EXPECT_EQ(allocate(), nullptr);
  EXPECT_TRUE(steps.end());
}

TEST_F(EarlyStepsTest, OfHundredsOfOptimizersPartTheStateOfTheFirstOnly) {
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(step(SessionState::kRecording, 0)) << "all lie in one iteration";
  EXPECT_EQ(port.parts, 2 * 32);
}

TEST_F(EarlyStepsTest, EndOnlyOnce) {
  steps.begin(SessionState::kRecording, 0);
  EXPECT_TRUE(steps.end());
  EXPECT_FALSE(steps.end());
}

}  // namespace
}  // namespace stowage::session
