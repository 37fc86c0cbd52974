// Loops as the detector sees them: sequences of allocations with their live bytes.
#include "tracer/recorder/period_detector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace stowage::tracer {
namespace {

constexpr PeriodOptions kSmall{
    .min_period = 4, .repetitions = 3, .max_history = 4096, .quiet_after_mark = 50};

/// Plays allocations and frees and writes down where marks came.
class Job {
 public:
  explicit Job(PeriodOptions options = kSmall) : detector(options) {}

  void alloc(std::uint64_t granules, std::uint32_t stream = 0) {
    if (detector.on_alloc(Bytes(512 * granules), StreamId(stream), Bytes(live_))) marks.push_back(count);
    ++count;
    live_ += 512 * granules;
  }
  void free(std::uint64_t granules) { live_ -= 512 * granules; }

  /// One iteration: `layers` equal layers forward and backward, a head in between, and a small update.
  void iteration(std::uint64_t layers, std::uint64_t batch = 8) {
    alloc(batch);
    for (std::uint64_t i = 0; i < layers; ++i) forward(batch);
    alloc(10 * batch);
    for (std::uint64_t i = 0; i < layers; ++i) backward(batch);
    free(10 * batch);
    free(batch);
    alloc(1);
    free(1);
  }

  PeriodDetector detector;
  std::vector<std::size_t> marks;
  std::size_t count = 0;

 private:
  void forward(std::uint64_t batch) {
    alloc(3 * batch);
    alloc(4 * batch);
    free(3 * batch);
    alloc(2 * batch);
    alloc(5 * batch);
    free(5 * batch);
  }
  void backward(std::uint64_t batch) {
    alloc(6 * batch);
    alloc(7 * batch);
    free(6 * batch);
    free(7 * batch);
    free(4 * batch);
    free(2 * batch);
  }

  std::uint64_t live_ = 0;
};

TEST(PeriodDetector, finds_a_training_loop_and_marks_each_iteration_where_least_is_alive) {
  Job job;
  job.alloc(50);  // parameters
  for (int i = 0; i < 20; ++i) job.iteration(12);
  const std::size_t length = 1 + 4 * 12 + 1 + 2 * 12 + 1;
  ASSERT_EQ(job.detector.period(), length);
  ASSERT_GE(job.marks.size(), 10u);
  for (std::size_t i = 1; i < job.marks.size(); ++i) EXPECT_EQ(job.marks[i] - job.marks[i - 1], length);
  // The input batch and the update are asked for while only the parameters are alive.
  const std::size_t phase = (job.marks[0] - 1) % length;
  EXPECT_TRUE(phase == 0 || phase == length - 1) << phase;
}

TEST(PeriodDetector, layers_of_one_deep_network_are_no_iterations) {
  Job job;
  job.iteration(200);
  job.iteration(200);
  EXPECT_TRUE(job.marks.empty());
  for (int i = 0; i < 6; ++i) job.iteration(200);
  EXPECT_EQ(job.detector.period(), 1u + 4u * 200u + 1u + 2u * 200u + 1u);
}

TEST(PeriodDetector, a_changing_job_has_no_period) {
  std::mt19937 random(1);
  Job job;
  for (int i = 0; i < 200; ++i) job.iteration(12, 1 + random() % 1000);
  EXPECT_TRUE(job.marks.empty());
}

TEST(PeriodDetector, what_only_grows_is_no_iteration) {
  Job job;
  for (std::uint64_t i = 0; i < 3000; ++i) job.alloc(1 + i % 7);
  EXPECT_TRUE(job.marks.empty());
}

TEST(PeriodDetector, streams_are_part_of_the_sequence) {
  Job job;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    job.alloc(1, i % 7 == 0 ? 1 : 0);
    job.free(1);
  }
  EXPECT_EQ(job.detector.period(), 7u);
}

TEST(PeriodDetector, a_change_ends_the_period_and_a_new_one_is_found) {
  Job job;
  for (int i = 0; i < 20; ++i) job.iteration(6);
  const auto before = job.detector.period();
  ASSERT_TRUE(before.has_value());
  job.iteration(6, 9);
  EXPECT_FALSE(job.detector.period().has_value());
  for (int i = 0; i < 40; ++i) job.iteration(6, 9);
  EXPECT_EQ(job.detector.period(), before);
}

TEST(PeriodDetector, a_loss_that_is_kept_does_not_hide_the_loop) {
  Job job;
  for (int i = 0; i < 20; ++i) {
    job.iteration(12);
    job.alloc(1);  // never freed
  }
  EXPECT_TRUE(job.detector.period().has_value());
}

TEST(PeriodDetector, a_data_set_loaded_once_does_not_hide_the_loop) {
  Job job;
  job.alloc(1'000'000);
  for (int i = 0; i < 20; ++i) job.iteration(12);
  EXPECT_TRUE(job.detector.period().has_value());
}

TEST(PeriodDetector, evaluation_every_third_makes_a_longer_period) {
  Job job;
  for (int i = 0; i < 30; ++i) {
    job.iteration(5);
    if (i % 3 == 2) job.iteration(5, 2);
  }
  const std::uint32_t length = 1 + 4 * 5 + 1 + 2 * 5 + 1;
  EXPECT_EQ(job.detector.period(), 4 * length);
}

TEST(PeriodDetector, rests_after_a_mark_of_someone_else) {
  Job job;
  for (int i = 0; i < 100; ++i) {
    job.iteration(6);
    job.detector.on_mark();
  }
  EXPECT_TRUE(job.marks.empty());
  for (int i = 0; i < 20; ++i) job.iteration(6);
  EXPECT_FALSE(job.marks.empty());
}

// What a period must at least be, checked against the sequence itself.
TEST(PeriodDetector, whatever_it_claims_repeated_three_times) {
  int claims = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Job job;
    std::vector<std::uint64_t> asked;
    bool had_period = false;
    for (int i = 0; i < 400; ++i) {
      const std::uint64_t size =
          random() % 50 == 0 ? 9 : static_cast<std::uint64_t>(i % (5 + static_cast<int>(seed) % 7));
      asked.push_back(size + 1);
      job.alloc(size + 1);
      job.free(size + 1);
      const auto period = job.detector.period();
      if (period && !had_period) {
        ++claims;
        ASSERT_GE(asked.size(), 3 * std::size_t{*period});
        const auto third = asked.end() - static_cast<std::ptrdiff_t>(2 * *period);
        EXPECT_TRUE(std::equal(third, asked.end(), third - static_cast<std::ptrdiff_t>(*period)));
      }
      had_period = period.has_value();
    }
  }
  EXPECT_GT(claims, 100);
}

}  // namespace
}  // namespace stowage::tracer
