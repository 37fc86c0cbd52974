// What keeps its history where iterations of several threads overlap.
#include "recompute/threads/training_threads.h"

#include <gtest/gtest.h>

namespace stowage::recompute {
namespace {

struct Ids {
  std::thread one{[] {}}, two{[] {}};
  const std::thread::id first = one.get_id(), second = two.get_id();
  ~Ids() { one.join(), two.join(); }
};

TEST(TrainingThreads, OneThreadAloneForgetsAll) {
  const Ids ids;
  TrainingThreads threads;
  EXPECT_EQ(threads.end_iteration(ids.first, 10), 10u);
  EXPECT_EQ(threads.end_iteration(ids.first, 20), 20u);
  EXPECT_EQ(threads.count(), 1u);
}

TEST(TrainingThreads, WhatAnotherThreadsIterationUsesIsKept) {
  const Ids ids;
  TrainingThreads threads;
  threads.join(ids.second, 3);
  EXPECT_EQ(threads.end_iteration(ids.first, 10), 3u);
  EXPECT_EQ(threads.end_iteration(ids.second, 15), 10u);
  EXPECT_EQ(threads.end_iteration(ids.first, 20), 15u);
  EXPECT_EQ(threads.count(), 2u);
}

TEST(TrainingThreads, AThreadThatDoesNotTrainIsForgotten) {
  const Ids ids;
  TrainingThreads threads;
  threads.join(ids.second, 3);
  for (std::uint64_t op = 10; op < 26; ++op) EXPECT_EQ(threads.end_iteration(ids.first, op), 3u);
  EXPECT_EQ(threads.end_iteration(ids.first, 30), 30u);
  EXPECT_EQ(threads.count(), 1u);
}

}  // namespace
}  // namespace stowage::recompute
