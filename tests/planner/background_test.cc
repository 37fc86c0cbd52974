#include "planner/background.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <system_error>

#include "planner/kinds/kind_book.h"
#include "tests/planner/training_traces.h"

namespace stowage::planner {
namespace {

using std::chrono::seconds;

JointOptions patient() {
  JointOptions options;
  options.time_limit_s = 60;
  return options;
}

Kinds kinds_of(const Job& job) {
  KindBook book;
  EXPECT_TRUE(book.observe(training_trace(job), [](std::uint64_t) { return true; }));
  return book.kinds();
}

TEST(BackgroundPlanner, GivesTheSamePlansAsMakePlansOnce) {
  const Kinds kinds = kinds_of(resnet50());
  BackgroundPlanner background;
  EXPECT_FALSE(background.busy());
  EXPECT_FALSE(background.poll().has_value());
  ASSERT_TRUE(background.submit(kinds, patient()).ok());
  EXPECT_TRUE(background.busy());
  const auto result = background.poll(seconds(60));
  ASSERT_TRUE(result.has_value());
  ASSERT_TRUE(result->ok());
  const auto direct = make_plans(kinds, patient());
  ASSERT_EQ((*result)->plans.size(), direct->plans.size());
  EXPECT_EQ((*result)->plans.back().entries, direct->plans.back().entries);
  EXPECT_FALSE(background.busy());
  EXPECT_FALSE(background.poll().has_value());
}

TEST(BackgroundPlanner, HandsOutErrorsToo) {
  BackgroundPlanner background;
  ASSERT_TRUE(background.submit(Kinds{}, patient()).ok());
  const auto result = background.poll(seconds(60));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->error().code, ErrorCode::kUnplannable);
}

TEST(BackgroundPlanner, CancelDropsTheResult) {
  BackgroundPlanner background;
  ASSERT_TRUE(background.submit(kinds_of(random_job(20000, 1)), patient()).ok());
  background.cancel();
  EXPECT_FALSE(background.busy());
  EXPECT_FALSE(background.poll(seconds(1)).has_value());
}

TEST(BackgroundPlanner, NewKindsReplaceTheOldOnes) {
  BackgroundPlanner background;
  ASSERT_TRUE(background.submit(kinds_of(random_job(20000, 1)), patient()).ok());
  ASSERT_TRUE(background.submit(kinds_of(unet()), patient()).ok());
  const auto result = background.poll(seconds(60));
  ASSERT_TRUE(result.has_value() && result->ok());
  const Trace trace = training_trace(unet());
  EXPECT_EQ((*result)->plans.back().fingerprint, fingerprint(trace, trace.steady->begin, trace.steady->end));
}

TEST(BackgroundPlanner, DestructionWhileAtWorkIsSafe) {
  for (int i = 0; i < 5; ++i) {
    BackgroundPlanner background;
    ASSERT_TRUE(background.submit(kinds_of(random_job(5000, 2)), patient()).ok());
  }
}

TEST(BackgroundPlanner, NoThreadIsAnErrorAndNotACrash) {
  BackgroundPlanner background([](std::function<void()>) -> std::thread {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  const Status status = background.submit(kinds_of(unet()), patient());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(status.error().message.find("thread could not be started"), std::string::npos);
  EXPECT_FALSE(background.busy());
  EXPECT_FALSE(background.poll(seconds(1)).has_value());
}

TEST(BackgroundPlanner, AForkedChildNeitherPlansNorHangs) {
  auto background = std::make_unique<BackgroundPlanner>();
  ASSERT_TRUE(background->submit(kinds_of(random_job(20000, 3)), patient()).ok());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);  // a hang ends in a signal, which the parent sees
    const bool right = !background->busy() && !background->poll().has_value() &&
                       background->submit(Kinds{}, {}).error().code == ErrorCode::kUnsupported;
    background->cancel();
    background.reset();
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  background.reset();
}

}  // namespace
}  // namespace stowage::planner
