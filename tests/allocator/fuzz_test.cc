// Random plans, random departures, several plans, plans that come and go: no two live slots ever overlap, and
// a job that follows its plan is never refused. On failure the calls are printed as a C++ program.
#include <gtest/gtest.h>

#include "tests/allocator/job_runner.h"

namespace stowage::allocator::testing {
namespace {

std::vector<Edit> random_edits(std::mt19937& random, const Job& job) {
  std::vector<Edit> edits;
  const std::uint32_t count = random() % 4;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint32_t>(random() % job.bytes.size());
    const std::uint64_t bytes =
        random() % 2 == 0 ? job.bytes[random() % job.bytes.size()] : 512 * (1 + random() % 99);
    edits.push_back({static_cast<Edit::Kind>(random() % 5), at, bytes});
  }
  return edits;
}

class AllocatorFuzz : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(AllocatorFuzz, NeverOverlapsWhateverTheJobDoes) {
  std::mt19937 random(GetParam());
  std::vector<Job> jobs;
  std::vector<Plan> plans;
  for (std::uint32_t i = 0; i < 1 + random() % 4; ++i) {
    jobs.push_back(random_job(random, 5 + random() % 120));
    plans.push_back(place(jobs.back(), random() % 3 * 4096));
  }
  const std::vector<Plan> all = plans;
  auto allocator = make_allocator(std::move(plans));
  JobRunner runner(allocator);
  for (int iteration = 0; iteration < 40 && runner.complaint().empty(); ++iteration) {
    const Job& job = jobs[random() % jobs.size()];
    if (random() % 5 == 0) {
      runner.run_unmarked(job, random_edits(random, job));
    } else {
      runner.run(job, random_edits(random, job));
    }
    if (random() % 8 == 0) {
      ASSERT_TRUE(allocator.add_plan(all[random() % all.size()]).ok());
    }
    if (random() % 8 == 0) {
      ASSERT_TRUE(allocator.replace_plans({all[random() % all.size()], all[0]}).ok());
    }
  }
  runner.free_kept();
  EXPECT_EQ(runner.complaint(), "") << "seed " << GetParam() << "\n" << runner.program();
  EXPECT_EQ(allocator.live_bytes(), Bytes(0));
}

TEST_P(AllocatorFuzz, AJobThatFollowsItsPlanIsNeverRefused) {
  std::mt19937 random(GetParam());
  const Job job = random_job(random, 5 + random() % 200);
  auto allocator = make_allocator({place(job)});
  JobRunner runner(allocator);
  for (int iteration = 0; iteration < 5; ++iteration) runner.run(job);
  EXPECT_EQ(misses(allocator), 0u) << "seed " << GetParam() << "\n" << runner.program();
  // Whatever happens in one iteration is over at the end of the next, however it ended.
  runner.run(job, random_edits(random, job));
  runner.run(job);
  runner.free_kept();
  runner.run(job);
  const std::uint64_t settled = misses(allocator);
  runner.run(job);
  EXPECT_EQ(misses(allocator), settled) << "seed " << GetParam() << "\n" << runner.program();
}

INSTANTIATE_TEST_SUITE_P(Seeds, AllocatorFuzz, ::testing::Range(0u, 300u));

}  // namespace
}  // namespace stowage::allocator::testing
