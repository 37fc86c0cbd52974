#include "session/recording/learner.h"

#include <gtest/gtest.h>

#include "tests/session/recording/recorded_iterations.h"

namespace stowage::session {
namespace {

struct LearnerTest : testing::Test, RecordedIterations {
  LearnerTest() {
    recording.start(true);
    learner.begin();
  }
  /// An iteration of `sizes`; `planning`: a further plan is being made all the while.
  std::optional<Trace> learned(const std::vector<std::uint64_t>& sizes, bool missed, bool planning = false) {
    iterate(sizes);
    learner.on_mark();
    std::optional<Trace> trace = learner.on_iteration(missed, planning);
    if (trace && accepts) learner.accept();
    learner.rest(missed, planning);
    return trace;
  }
  void calm(int iterations) {
    for (int i = 0; i < iterations; ++i) EXPECT_FALSE(learned(kTraining, false));
  }

  const std::vector<std::uint64_t> kTraining{1000, 2000, 3000}, kEvaluation{5000, 6000};
  bool accepts = true;  ///< plans are made of what is offered
  Learner learner{recording};
};

TEST_F(LearnerTest, AKindThatDivergedTwiceIsWorthAPlan) {
  calm(3);
  EXPECT_FALSE(learned(kEvaluation, true));
  EXPECT_FALSE(learned(kTraining, false)) << "seen once";
  EXPECT_FALSE(learned(kEvaluation, true));
  const std::optional<Trace> trace = learned(kTraining, false);
  ASSERT_TRUE(trace);
  ASSERT_TRUE(trace->steady);
  std::vector<std::uint64_t> sizes;
  for (const Buffer& buffer : trace->buffers) sizes.push_back(buffer.bytes.value());
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{5000, 6000, 5000, 6000})) << "the iteration, twice";
}

TEST_F(LearnerTest, AKindHasOnePlan) {
  calm(3);
  int plans = 0;
  for (int i = 0; i < 6; ++i) {
    learned(kEvaluation, true);
    if (learned(kTraining, false)) ++plans;
  }
  EXPECT_EQ(plans, 1);
}

TEST_F(LearnerTest, AKindWhosePlanCouldNotBeAskedForIsOfferedAgain) {
  accepts = false;
  calm(3);
  int offers = 0;
  for (int i = 0; i < 4; ++i) {
    learned(kEvaluation, true);
    if (learned(kTraining, false)) ++offers;
  }
  EXPECT_EQ(offers, 3);
}

TEST_F(LearnerTest, TheKindThatHasThePlanIsKnown) {
  const auto diverge_twice = [&] {
    calm(3);
    std::optional<Trace> trace;
    for (int i = 0; i < 2; ++i) {
      learned(kEvaluation, true);
      trace = learned(kTraining, false);
    }
    return trace;
  };
  std::optional<Trace> trace = diverge_twice();
  ASSERT_TRUE(trace);
  const Window window{trace->steady->begin, trace->steady->end,
                      fingerprint(*trace, trace->steady->begin, trace->steady->end)};
  learner.know_only(kind_of_iteration(*trace, window));
  learner.begin();
  EXPECT_FALSE(diverge_twice());
  learner.know_only(0);
  learner.begin();
  EXPECT_TRUE(diverge_twice());
}

TEST_F(LearnerTest, WaitsForThePlanThatIsBeingMade) {
  calm(3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(learned(kEvaluation, true, /*planning=*/true));
    EXPECT_FALSE(learned(kTraining, false, /*planning=*/true));
  }
  learned(kEvaluation, true);
  EXPECT_FALSE(learned(kTraining, false)) << "what came meanwhile was not counted";
  learned(kEvaluation, true);
  EXPECT_TRUE(learned(kTraining, false));
}

TEST_F(LearnerTest, StopsWritingWhereNothingDivergesAndBeginsWithTheNextDivergence) {
  calm(15);
  EXPECT_TRUE(recording.is_on());
  calm(1);
  EXPECT_FALSE(recording.is_on());
  EXPECT_FALSE(learned(kEvaluation, true));
  EXPECT_TRUE(recording.is_on());
  calm(31);
  EXPECT_TRUE(recording.is_on()) << "twice as long as before";
  calm(1);
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
