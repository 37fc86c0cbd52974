// A plan source that plans nothing: the test says what comes of what it is asked for.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "session/plans/plan_source.h"
#include "tests/session/plans/joint.h"

namespace stowage::session {

/// Remembers what it was asked for; the test says what comes of it.
struct Asked {
  planner::Kinds kinds;
  planner::JointOptions options;
  int times = 0;
  bool refuses = false;
  std::optional<Result<JointPlan>> made;
};

class ScriptedPlans final : public PlanSource {
 public:
  explicit ScriptedPlans(Asked& asked) : asked_(asked) {}
  Status submit(planner::Kinds kinds, planner::JointOptions options) override {
    if (asked_.refuses) return Error{ErrorCode::kUnsupported, "no thread"};
    asked_.kinds = std::move(kinds);
    asked_.options = std::move(options);
    ++asked_.times;
    return {};
  }
  std::optional<Result<JointPlan>> poll(std::chrono::nanoseconds) override {
    return std::exchange(asked_.made, std::nullopt);
  }
  void cancel() override { asked_.made.reset(); }

 private:
  Asked& asked_;
};

}  // namespace stowage::session
