#include "session/recording/learner.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/session/recording/recorded_iterations.h"

namespace stowage::session {
namespace {

struct LearnerTest : testing::Test, RecordedIterations {
  LearnerTest() {
    recording.start(true);
    learner.begin();
  }
  /// An iteration of `sizes`; true: the one before deserves a plan.
  bool learned(const std::vector<std::uint64_t>& sizes, bool missed, bool planning = false) {
    iterate(sizes);
    const bool offers =
        learner.on_iteration(missed, [this](std::uint64_t kind) { return planned.contains(kind); });
    learner.rest(missed, planning);
    return offers;
  }
  void calm(int iterations) {
    for (int i = 0; i < iterations; ++i) EXPECT_FALSE(learned(kTraining, false));
  }
  std::uint64_t kind_of(const std::vector<std::uint64_t>& sizes) {
    Fingerprint made;
    for (const std::uint64_t size : sizes) made.add(round_up(Bytes(size)), StreamId(0));
    return made.value();
  }

  const std::vector<std::uint64_t> kTraining{1000, 2000, 3000}, kEvaluation{5000, 6000};
  std::set<std::uint64_t> planned{kind_of(kTraining)};
  Learner learner{recording};
};

TEST_F(LearnerTest, AKindThatCameTwiceDeservesAPlan) {
  calm(3);
  EXPECT_FALSE(learned(kEvaluation, true));
  EXPECT_FALSE(learned(kTraining, false)) << "seen once";
  EXPECT_FALSE(learner.wants(kind_of(kEvaluation)));
  EXPECT_FALSE(learned(kEvaluation, true));
  EXPECT_TRUE(learned(kTraining, false));
  EXPECT_TRUE(learner.wants(kind_of(kEvaluation)));
  EXPECT_FALSE(learner.wants(kind_of(kTraining))) << "it has one";
}

TEST_F(LearnerTest, AKindThatHasAPlanDeservesNoOther) {
  calm(3);
  planned.insert(kind_of(kEvaluation));
  for (int i = 0; i < 6; ++i) {
    EXPECT_FALSE(learned(kEvaluation, true));
    EXPECT_FALSE(learned(kTraining, false));
  }
}

TEST_F(LearnerTest, WhereNoPlanCameOfItAKindIsOfferedMoreAndMoreRarely) {
  calm(3);
  std::vector<int> offers;
  for (int i = 1; i <= 16; ++i) {
    learned(kEvaluation, true);
    if (learned(kTraining, false)) offers.push_back(i);
  }
  EXPECT_EQ(offers, (std::vector<int>{2, 4, 8, 16}));
}

TEST_F(LearnerTest, StopsWritingWhereNothingMissesAndBeginsWithTheNextMiss) {
  calm(63);
  EXPECT_TRUE(recording.is_on());
  calm(1);
  EXPECT_FALSE(recording.is_on());
  calm(100);
  EXPECT_FALSE(learned(kEvaluation, true));
  EXPECT_TRUE(recording.is_on());
  calm(300);
  EXPECT_TRUE(recording.is_on()) << "it may come again as late as it came";
  calm(40);
  EXPECT_FALSE(recording.is_on());
}

TEST_F(LearnerTest, GoesOnWritingWhilePlansAreMade) {
  for (int i = 0; i < 100; ++i) learned(kTraining, false, /*planning=*/true);
  EXPECT_TRUE(recording.is_on());
  learned(kTraining, false);
  EXPECT_FALSE(recording.is_on());
}

TEST_F(LearnerTest, LearnsNothingOnceClosed) {
  calm(3);
  learned(kEvaluation, true);
  learner.close();
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(learned(kEvaluation, true));
    EXPECT_FALSE(learned(kTraining, false));
  }
  EXPECT_FALSE(recording.is_on());
}

}  // namespace
}  // namespace stowage::session
