// A job that departs from its plan comes back into it within the same iteration, and what it costs is known.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/allocator/job_runner.h"

namespace stowage::allocator::testing {
namespace {

constexpr std::uint64_t kOddSize = 512 * 9001;  // in no plan

struct Case {
  const char* name;
  std::vector<Edit> edits;
  std::uint64_t most_misses;       ///< in the iteration that departs
  std::uint64_t most_misses_next;  ///< in the one after it, which does not
};

void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }

// gpt_like(12) has 1 + 12 * 16 forward and 1 + 96 backward requests: 290.
const Case kCases[] = {
    {"one_more", {{Edit::kInsert, 50, kOddSize}}, 1, 0},
    {"one_more_of_a_planned_size", {{Edit::kInsert, 50, 64 * 512}}, 3, 0},
    {"one_more_first_of_all", {{Edit::kInsert, 0, kOddSize}}, 1, 0},
    {"one_more_last_of_all", {{Edit::kInsert, 289, kOddSize}}, 1, 0},
    {"one_fewer", {{Edit::kSkip, 51, 0}}, 2, 0},
    {"the_first_fewer", {{Edit::kSkip, 0, 0}}, 2, 0},
    {"the_last_fewer", {{Edit::kSkip, 289, 0}}, 0, 0},
    {"another_size", {{Edit::kResize, 51, kOddSize}}, 1, 0},
    {"another_size_first_of_all", {{Edit::kResize, 0, kOddSize}}, 1, 0},
    {"another_size_of_the_plan", {{Edit::kResize, 51, 4 * 64 * 512}}, 4, 0},
    {"five_other_sizes_in_a_row",
     {{Edit::kResize, 60, kOddSize},
      {Edit::kResize, 61, kOddSize},
      {Edit::kResize, 62, kOddSize},
      {Edit::kResize, 63, kOddSize},
      {Edit::kResize, 64, kOddSize}},
     5,
     0},
    {"three_more_in_a_row",
     {{Edit::kInsert, 60, kOddSize}, {Edit::kInsert, 60, kOddSize + 512}, {Edit::kInsert, 60, kOddSize}},
     3,
     0},
    {"some_of_each",
     {{Edit::kInsert, 20, kOddSize},
      {Edit::kSkip, 70, 0},
      {Edit::kResize, 120, kOddSize},
      {Edit::kSkip, 200, 0},
      {Edit::kInsert, 250, kOddSize}},
     8,
     0},
    {"a_tensor_kept_for_two_iterations", {{Edit::kKeep, 40, 0}}, 2, 30},
    {"an_exception_in_forward", {{Edit::kStop, 100, 0}}, 0, 2},
    {"an_exception_in_backward", {{Edit::kStop, 220, 0}}, 0, 2},
};

class Divergence : public ::testing::TestWithParam<Case> {};

TEST_P(Divergence, ComesBackIntoThePlan) {
  const Job job = gpt_like(12);
  auto allocator = make_allocator({place(job)});
  JobRunner runner(allocator);
  for (int warm = 0; warm < 3; ++warm) runner.run(job);
  ASSERT_EQ(misses(allocator), 0u) << "a job that follows its plan has no misses";

  const JobRunner::Followed followed = runner.run(job, GetParam().edits);
  EXPECT_LE(misses(allocator), GetParam().most_misses) << runner.program();
  // Everything that comes 16 requests or more after the last departure follows the plan again.
  std::size_t last_edit = 0;
  for (const Edit& edit : GetParam().edits) last_edit = std::max<std::size_t>(last_edit, edit.at);
  for (std::size_t i = last_edit + 16; i < followed.size(); ++i) EXPECT_TRUE(followed[i]) << "request " << i;

  const std::uint64_t before = misses(allocator);
  runner.run(job);
  EXPECT_LE(misses(allocator) - before, GetParam().most_misses_next);
  runner.free_kept();
  const std::uint64_t settled = misses(allocator);
  runner.run(job);
  EXPECT_EQ(misses(allocator), settled) << "back in plan after one iteration";
  EXPECT_EQ(runner.complaint(), "") << runner.program();
  EXPECT_EQ(allocator.live_bytes(), Bytes(0));
}

INSTANTIATE_TEST_SUITE_P(Table, Divergence, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

// A model's layers: activations that backward frees, a small buffer with each, and at the end scratch of an
// optimizer for all parameters, in their order.
Job with_optimizer(const std::vector<std::uint64_t>& parameters) {
  Job job;
  std::vector<std::uint32_t> live;
  for (std::size_t i = 0; i < 2 * parameters.size(); ++i) {
    live.push_back(job.allocate(std::uint64_t{3} << 20));
    live.push_back(job.allocate(512));
  }
  for (; !live.empty(); live.pop_back()) job.free(live.back());
  for (const std::uint64_t bytes : parameters) live.push_back(job.allocate(bytes));
  for (const std::uint32_t each : live) job.free(each);
  return job;
}

TEST(Divergence, ACopyOfTheWeightsBetweenIterationsTakesNoPlaces) {
  std::vector<std::uint64_t> parameters;
  for (std::uint64_t layer = 0; layer < 16; ++layer) {
    parameters.push_back((64 + 8 * layer) << 10);
    parameters.push_back(512);
    parameters.push_back(512);
  }
  const Job job = with_optimizer(parameters);
  auto allocator = make_allocator({place(job)});
  JobRunner runner(allocator);
  for (int warm = 0; warm < 3; ++warm) runner.run(job);
  for (const std::uint64_t bytes : parameters)
    EXPECT_EQ(allocator.allocate(Bytes(bytes), StreamId(0)), nullptr) << bytes;
  const std::uint64_t before = misses(allocator);
  EXPECT_EQ(before, parameters.size());
  for (int i = 0; i < 3; ++i) runner.run(job);
  EXPECT_EQ(misses(allocator), before) << runner.program();
  EXPECT_EQ(runner.complaint(), "");
}

// The forward part of a training iteration, as an evaluation runs it: each activation goes as soon as the
// next is there.
Job forward_part(const Job& job, std::size_t requests) {
  Job part;
  for (std::size_t i = 0; i < requests; ++i) {
    part.allocate(job.bytes[i], job.streams[i]);
    if (i > 0) part.free(static_cast<std::uint32_t>(i - 1));
  }
  part.free(static_cast<std::uint32_t>(requests - 1));
  return part;
}

TEST(SeveralPlans, AnEvaluationWithoutItsOwnPlanIsServedFromTheTrainingPlan) {
  const Job train = gpt_like(12);
  const Job evaluate = forward_part(train, 193);
  auto allocator = make_allocator({place(train)});
  JobRunner runner(allocator);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 3; ++i) runner.run(train);
    for (int batch = 0; batch < 4; ++batch) runner.run_unmarked(evaluate);
  }
  EXPECT_EQ(misses(allocator), 0u);
  EXPECT_EQ(runner.complaint(), "");
}

TEST(SeveralPlans, AreToldApartByTheirFirstDifference) {
  const Job train = gpt_like(12);
  Job evaluate = forward_part(train, 40);  // begins alike, then differs
  for (int i = 0; i < 20; ++i) evaluate.free(evaluate.allocate(512 * (5000 + i)));
  auto allocator = make_allocator({place(train), place(evaluate)});
  JobRunner runner(allocator);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 3; ++i) runner.run(train);
    for (int i = 0; i < 2; ++i) runner.run(evaluate);
  }
  // A training iteration that begins in the evaluation's slots finds some of its own in use.
  EXPECT_LE(misses(allocator), 8u);
  EXPECT_EQ(allocator.counts().misses[static_cast<std::size_t>(Miss::kUnexpected)], 0u);
  EXPECT_EQ(allocator.counts().iterations, 20u);
  EXPECT_EQ(runner.complaint(), "");
}

TEST(SeveralPlans, ManyShapesInAnyOrder) {
  std::mt19937 random(7);
  std::vector<Job> jobs;
  std::vector<Plan> plans;
  for (std::uint64_t shape = 0; shape < 8; ++shape) {
    jobs.push_back(gpt_like(6, (64 + 8 * shape) * 512));
    plans.push_back(place(jobs.back()));
  }
  auto allocator = make_allocator(std::move(plans));
  JobRunner runner(allocator);
  for (int i = 0; i < 100; ++i) runner.run(jobs[random() % jobs.size()]);
  EXPECT_EQ(misses(allocator), 0u);
  EXPECT_EQ(runner.complaint(), "");
}

TEST(InnerMarks, ResyncWithinTheIteration) {
  Job job = gpt_like(4);
  Plan plan = place(job);
  plan.inner_marks = {30, 60};
  auto allocator = make_allocator({plan});
  const auto run = [&](std::uint32_t from, std::uint32_t to) {
    std::vector<void*> live;
    for (std::uint32_t i = from; i < to; ++i) {
      live.push_back(allocator.allocate(Bytes(job.bytes[i]), StreamId(0)));
    }
    for (void* address : live) {
      if (address != nullptr) allocator.free(address);
    }
    allocator.on_mark();
  };
  const auto length = static_cast<std::uint32_t>(job.bytes.size());
  for (int iteration = 0; iteration < 3; ++iteration) {
    run(0, 30);
    run(30, 60);
    run(60, length);
  }
  EXPECT_EQ(allocator.counts().iterations, 3u);
  allocator.reset_counts();
  run(0, 27);  // the last three are left out: the mark says where we are
  run(30, 60);
  run(60, length);
  EXPECT_EQ(allocator.counts().iterations, 1u);
  EXPECT_EQ(allocator.counts().misses[static_cast<std::size_t>(Miss::kUnexpected)], 0u);
}

}  // namespace
}  // namespace stowage::allocator::testing
