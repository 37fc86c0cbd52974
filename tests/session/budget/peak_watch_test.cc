// Bytes alive as jobs without an optimizer have them, and when their peak is believed.
#include "session/budget/peak_watch.h"

#include <gtest/gtest.h>

namespace stowage::session {
namespace {

constexpr PeakWatchOptions kSmall{.least_allocations = 10, .swings = 4, .longest_swing = 200};

class Job {
 public:
  explicit Job(PeakWatchOptions options = kSmall) : watch_(options) {}
  void alloc(std::uint64_t bytes) {
    believed = watch_.on_alloc(Bytes(live_)) || believed;
    live_ += bytes;
  }
  void free(std::uint64_t bytes) { live_ -= bytes; }
  /// Layers that keep `kept` bytes each and need `more` while they run.
  void forward(int layers, std::uint64_t kept, std::uint64_t more) {
    for (int i = 0; i < layers; ++i) alloc(kept), alloc(more), free(more);
  }
  void backward(int layers, std::uint64_t kept, std::uint64_t more) {
    for (int i = 0; i < layers; ++i) alloc(more), free(more), free(kept);
  }
  bool believed = false;

 private:
  PeakWatch watch_;
  std::uint64_t live_ = 0;
};

TEST(PeakWatch, BelievesAfterSomeRequestsOfAServer) {
  Job job;
  job.alloc(100'000);  // parameters
  for (int request = 0; request < 4; ++request) {
    EXPECT_FALSE(job.believed);
    job.forward(6, 1000, 500);
    job.free(6000);
  }
  for (int request = 0; request < 4; ++request) job.forward(6, 1000, 500), job.free(6000);
  EXPECT_TRUE(job.believed);
}

TEST(PeakWatch, BelievesWherePromptsGrow) {
  Job job;
  job.alloc(100'000);
  for (std::uint64_t prompt = 10; prompt < 30; ++prompt) {
    for (int token = 0; token < 5; ++token) job.alloc(100 * prompt);
    job.free(500 * prompt);
  }
  EXPECT_TRUE(job.believed);
}

TEST(PeakWatch, TakesNoLayersOfAPassForIterations) {
  Job job;
  job.alloc(100'000);
  job.forward(40, 1000, 1500);
  job.backward(40, 1000, 1500);
  EXPECT_FALSE(job.believed);
  for (int step = 0; step < 6; ++step) job.forward(40, 1000, 1500), job.backward(40, 1000, 1500);
  EXPECT_TRUE(job.believed);
}

TEST(PeakWatch, ForgetsACheckpointThatWasLoaded) {
  Job job;
  for (int i = 0; i < 20; ++i) job.alloc(100'000);
  job.free(1'900'000);
  for (int request = 0; request < 10; ++request) job.alloc(1000), job.alloc(1000), job.free(2000);
  EXPECT_FALSE(job.believed);
  for (int request = 0; request < 120; ++request) job.alloc(1000), job.alloc(1000), job.free(2000);
  EXPECT_TRUE(job.believed);
}

TEST(PeakWatch, BelievesNothingWhileMemoryOnlyGrows) {
  Job job;
  for (int i = 0; i < 3000; ++i) job.alloc(1000);
  EXPECT_FALSE(job.believed);
}

}  // namespace
}  // namespace stowage::session
