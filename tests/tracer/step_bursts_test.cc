// Sequences of optimizer steps, and which of them end an iteration.
#include "tracer/observers/step_bursts.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace stowage::tracer {
namespace {

// "g": autograd records something; "s": a step. Each step that ends an iteration becomes "E".
std::string played(std::string_view job) {
  StepBursts bursts;
  std::string seen;
  bool graph = false;
  for (const char event : job) {
    if (event == 's') {
      seen += bursts.on_step(graph) ? 'E' : 's';
      graph = false;
    } else {
      graph = true;
      seen += event;
    }
  }
  return seen;
}

TEST(StepBursts, OneStepAfterEachGraphEndsAnIteration) { EXPECT_EQ(played("gsgsgs"), "gEgEgE"); }

TEST(StepBursts, TheLastStepOfABurstEndsAnIteration) { EXPECT_EQ(played("gsssgsssgsss"), "gEssgssEgssE"); }

TEST(StepBursts, WithoutGraphsEachStepEndsAnIteration) { EXPECT_EQ(played("ssss"), "EEEE"); }

TEST(StepBursts, AnOptimizerThatLeavesAStepOutCostsOneIteration) {
  EXPECT_EQ(played("gsssgsssgssgssgsss"), "gEssgssEgssgsEgsEs");
}

TEST(StepBursts, AJobThatGoesOnWithoutGraphsHasIterationsAgain) {
  const std::string seen = played("gsgs" + std::string(5000, 's'));
  EXPECT_EQ(seen.substr(0, 6), "gEgEss");
  EXPECT_EQ(seen.substr(seen.size() - 100), std::string(100, 'E'));
}

}  // namespace
}  // namespace stowage::tracer
