// Until when a recorder says that the job has only allocated.
#include <gtest/gtest.h>

#include "tests/tracer/feed.h"

namespace stowage::tracer::testing {
namespace {

RecorderOptions from_the_beginning() {
  RecorderOptions options;
  options.from_first_allocation = true;
  return options;
}

TEST(OnlyGrew, UntilSomethingThatWasSeenAllocatedIsFreed) {
  Feed feed(from_the_beginning());
  EXPECT_TRUE(feed.recorder.only_grew());
  const void* const made = feed.alloc(512);
  feed.recorder.on_free(address_of(1000));
  EXPECT_TRUE(feed.recorder.only_grew());
  feed.recorder.on_free(made);
  EXPECT_FALSE(feed.recorder.only_grew());
}

TEST(OnlyGrew, UntilAnIterationEnds) {
  Feed feed(from_the_beginning());
  feed.recorder.on_mark(MarkSource::kOptimizer);
  EXPECT_TRUE(feed.recorder.only_grew()) << "one without allocations is none";
  feed.alloc(512);
  feed.recorder.on_mark(MarkSource::kOptimizer);
  EXPECT_FALSE(feed.recorder.only_grew());
}

TEST(OnlyGrew, NotWhereTheJobAllocatedBeforeItWasRecorded) {
  Feed feed;
  feed.alloc(512);
  EXPECT_FALSE(feed.recorder.only_grew());
}

}  // namespace
}  // namespace stowage::tracer::testing
