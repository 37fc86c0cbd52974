// User scopes as torch.optim opens them, and who hears of them.
#include "tracer/observers/step_observer.h"

#include <ATen/ATen.h>
#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace stowage::tracer {
namespace {

class StepObserver : public ::testing::Test {
 protected:
  void SetUp() override {
    start_observing_steps(
        {[this] { heard += "("; }, [this] { heard += ")"; }, [this](MarkSource) { heard += "|"; }});
  }
  void TearDown() override { stop_observing_steps(); }

  /// After a graph was built, as by a forward pass.
  template <class Inside>
  static void scope(const std::string& name, Inside inside) {
    at::sequence_number::get_and_increment();
    later_scope(name, inside);
  }
  template <class Inside>
  static void later_scope(const std::string& name, Inside inside) {
    at::RecordFunction guard(at::RecordScope::USER_SCOPE);
    if (guard.isActive()) guard.before(name);
    inside();
  }
  static void nothing() {}

  std::string heard;
};

TEST_F(StepObserver, hears_steps_and_nothing_else) {
  scope("Optimizer.step#AdamW.step", [&] { heard += "x"; });
  scope("Optimizer.zero_grad#AdamW.zero_grad", nothing);
  scope("mine", nothing);
  at::ones({2}).add(1);
  EXPECT_EQ(heard, "(x)|");
}

TEST_F(StepObserver, a_step_within_a_step_is_one) {
  scope("Optimizer.step#Outer.step", [] { scope("Optimizer.step#Inner.step", nothing); });
  scope("Optimizer.step#SGD.step", nothing);
  EXPECT_EQ(heard, "()|()|");
}

TEST_F(StepObserver, of_a_burst_of_steps_the_last_ends_the_iteration) {
  for (int iteration = 0; iteration < 3; ++iteration) {
    scope("Optimizer.step#SGD.step", nothing);
    later_scope("Optimizer.step#SGD.step", nothing);
    heard += " ";
  }
  EXPECT_EQ(heard, "()|() ()()| ()()| ");
}

TEST_F(StepObserver, survives_callbacks_that_throw) {
  start_observing_steps(
      {[] { throw std::runtime_error("begin"); }, [] { throw 1; }, [](MarkSource) { throw 2; }});
  EXPECT_NO_THROW(scope("Optimizer.step#SGD.step", nothing));
}

TEST_F(StepObserver, stops_and_starts) {
  stop_observing_steps();
  scope("Optimizer.step#SGD.step", nothing);
  EXPECT_EQ(heard, "");
  start_observing_steps({nullptr, nullptr, [this](MarkSource source) {
                           heard += source == MarkSource::kOptimizer ? "optimizer" : "other";
                         }});
  scope("Optimizer.step#SGD.step", nothing);
  EXPECT_EQ(heard, "optimizer");
}

TEST_F(StepObserver, a_step_under_way_at_stop_still_ends) {
  scope("Optimizer.step#SGD.step", [] { stop_observing_steps(); });
  EXPECT_EQ(heard, "()|");
}

TEST_F(StepObserver, leaves_ops_without_callbacks) {
  EXPECT_FALSE(at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value());
  EXPECT_TRUE(at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE).has_value());
}

}  // namespace
}  // namespace stowage::tracer
