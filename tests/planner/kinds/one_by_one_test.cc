#include "planner/one_by_one.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <utility>
#include <vector>

#include "planner/joint_planner.h"
#include "tests/planner/kinds/automata.h"

namespace stowage::planner {
namespace {

using Effort = OneByOne::Effort;

/// Plans in use, and tensors that came to stay in the middle of them.
struct Tenanted {
  Kinds kinds;
  JointOptions options;
};

Tenanted tenanted(std::uint64_t seed) {
  Tenanted made{kinds_of(trace_of(run_automaton(seed))), {}};
  made.options.work_limit = 200'000;
  Result<JointPlan> before = make_plans(made.kinds, made.options);
  EXPECT_TRUE(before.ok());
  made.options.in_use = before->plans;
  for (std::uint64_t at = 0; at < 4; ++at) {
    made.options.tenants.push_back(
        {Offset(before->height.value() / 2048 * 512 * at), Bytes(512), StreamId(0)});
  }
  return made;
}

struct Kept {
  Bytes height{0};
  bool spared = false;
};

Kept keep(const Tenanted& job, Effort effort) {
  const std::stop_token never;
  JointTask task(job.kinds, job.options, never);
  OneByOne one_by_one(task);
  Arrangement in_use{nothing_placed(job.kinds), Bytes(0), "kept"};
  std::vector<bool> members = take_over(job.options.in_use, job.kinds, in_use.places);
  Result<Arrangement> made = one_by_one.keep(std::move(in_use), std::move(members), effort);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
  return {made.ok() ? made->height : Bytes(0), one_by_one.has_spared()};
}

TEST(OneByOne, WithLittleEffortLooksForNoLowerPlacementThanAroundWhatStays) {
  int spared = 0, lower = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Tenanted job = tenanted(seed);
    const Kept little = keep(job, Effort::kLittle), full = keep(job, Effort::kFull);
    EXPECT_FALSE(full.spared) << seed;
    EXPECT_LE(full.height, little.height) << seed;
    if (!little.spared) {
      EXPECT_EQ(full.height, little.height) << seed;
    }
    spared += little.spared ? 1 : 0;
    lower += full.height < little.height ? 1 : 0;
  }
  EXPECT_GT(spared, lower) << "what it spares is not always worth it";
  EXPECT_GT(lower, 0);
}

// In the end as low as with all effort: what little leaves out comes when nothing quicker has helped.
TEST(OneByOne, AllPlansAreAsLowAsWithAllEffort) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Tenanted job = tenanted(seed);
    const Result<JointPlan> made = make_plans(job.kinds, job.options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_LE(made->height, keep(job, Effort::kFull).height) << seed;
  }
}

}  // namespace
}  // namespace stowage::planner
