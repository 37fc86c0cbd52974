#include "planner/background.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <system_error>

#include "tests/planner/training_traces.h"

namespace stowage::planner {
namespace {

using std::chrono::seconds;

PlanOptions patient() {
  PlanOptions options;
  options.time_limit_s = 60;
  return options;
}

TEST(BackgroundPlanner, GivesTheSamePlanAsMakePlanOnce) {
  const Trace trace = training_trace(resnet50());
  BackgroundPlanner background;
  EXPECT_FALSE(background.busy());
  EXPECT_FALSE(background.poll().has_value());
  ASSERT_TRUE(background.submit(trace, patient()).ok());
  EXPECT_TRUE(background.busy());
  const auto result = background.poll(seconds(60));
  ASSERT_TRUE(result.has_value());
  ASSERT_TRUE(result->ok());
  const auto direct = make_plan(trace, patient());
  EXPECT_EQ((*result)->entries, direct->entries);
  EXPECT_FALSE(background.busy());
  EXPECT_FALSE(background.poll().has_value());
}

TEST(BackgroundPlanner, HandsOutErrorsToo) {
  BackgroundPlanner background;
  Trace trace = training_trace(vgg16());
  trace.dropped = 1;
  ASSERT_TRUE(background.submit(trace, patient()).ok());
  const auto result = background.poll(seconds(60));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->error().code, ErrorCode::kUnplannable);
}

TEST(BackgroundPlanner, CancelDropsTheResult) {
  BackgroundPlanner background;
  ASSERT_TRUE(background.submit(training_trace(random_job(20000, 1)), patient()).ok());
  background.cancel();
  EXPECT_FALSE(background.busy());
  EXPECT_FALSE(background.poll(seconds(1)).has_value());
}

TEST(BackgroundPlanner, ANewTraceReplacesTheOldOne) {
  BackgroundPlanner background;
  ASSERT_TRUE(background.submit(training_trace(random_job(20000, 1)), patient()).ok());
  ASSERT_TRUE(background.submit(training_trace(unet()), patient()).ok());
  const auto result = background.poll(seconds(60));
  ASSERT_TRUE(result.has_value() && result->ok());
  const Trace trace = training_trace(unet());
  EXPECT_EQ((*result)->fingerprint, fingerprint(trace, trace.steady->begin, trace.steady->end));
}

TEST(BackgroundPlanner, SiblingsMayDieAfterSubmit) {
  BackgroundPlanner background;
  auto sibling = std::make_unique<Plan>(*make_plan(training_trace(unet()), patient()));
  const Bytes height = sibling->height;
  PlanOptions options = patient();
  options.siblings = {sibling.get()};
  ASSERT_TRUE(background.submit(training_trace(unet()), options).ok());
  sibling.reset();
  const auto result = background.poll(seconds(60));
  ASSERT_TRUE(result.has_value() && result->ok());
  EXPECT_EQ((*result)->height, height);
}

TEST(BackgroundPlanner, DestructionWhileAtWorkIsSafe) {
  for (int i = 0; i < 5; ++i) {
    BackgroundPlanner background;
    ASSERT_TRUE(background.submit(training_trace(random_job(5000, 2)), patient()).ok());
  }
}

TEST(BackgroundPlanner, NoThreadIsAnErrorAndNotACrash) {
  BackgroundPlanner background([](std::function<void()>) -> std::thread {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  const Status status = background.submit(training_trace(unet()), patient());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(status.error().message.find("thread could not be started"), std::string::npos);
  EXPECT_FALSE(background.busy());
  EXPECT_FALSE(background.poll(seconds(1)).has_value());
}

TEST(BackgroundPlanner, AForkedChildNeitherPlansNorHangs) {
  auto background = std::make_unique<BackgroundPlanner>();
  ASSERT_TRUE(background->submit(training_trace(random_job(20000, 3)), patient()).ok());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);  // a hang ends in a signal, which the parent sees
    const bool right = !background->busy() && !background->poll().has_value() &&
                       background->submit(Trace{}, {}).error().code == ErrorCode::kUnsupported;
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
