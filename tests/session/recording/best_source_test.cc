#include "session/recording/best_source.h"

#include <gtest/gtest.h>

namespace stowage::session {
namespace {

using Mark = BestSource::Mark;

TEST(BestSource, AllocationsCountUntilAnOptimizerSteps) {
  BestSource best;
  EXPECT_EQ(best.on_mark(MarkSource::kPeriod), Mark::kCounts);
  EXPECT_EQ(best.on_mark(MarkSource::kOptimizer), Mark::kBetter);
  EXPECT_EQ(best.on_mark(MarkSource::kOptimizer), Mark::kCounts);
  EXPECT_EQ(best.on_mark(MarkSource::kPeriod), Mark::kIgnored);
}

TEST(BestSource, NobodyKnowsBetterThanTheUser) {
  BestSource best;
  EXPECT_EQ(best.on_mark(MarkSource::kUser), Mark::kBetter);
  EXPECT_EQ(best.on_mark(MarkSource::kOptimizer), Mark::kIgnored);
  EXPECT_EQ(best.on_mark(MarkSource::kPeriod), Mark::kIgnored);
  EXPECT_EQ(best.on_mark(MarkSource::kUser), Mark::kCounts);
}

}  // namespace
}  // namespace stowage::session
