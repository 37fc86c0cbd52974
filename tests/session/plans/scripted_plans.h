// A plan source that plans nothing: the test says what comes of what it is asked for.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "session/plans/plan_source.h"

namespace stowage::session {

/// Remembers what it was asked for; the test says what comes of it.
struct Asked {
  planner::PlanOptions options;
  int times = 0;
  bool refuses = false;
  std::optional<Result<Plan>> made;
};

class ScriptedPlans final : public PlanSource {
 public:
  explicit ScriptedPlans(Asked& asked) : asked_(asked) {}
  Status submit(Trace, planner::PlanOptions options) override {
    if (asked_.refuses) return Error{ErrorCode::kUnsupported, "no thread"};
    asked_.options = std::move(options);
    ++asked_.times;
    return {};
  }
  std::optional<Result<Plan>> poll(std::chrono::nanoseconds) override {
    return std::exchange(asked_.made, std::nullopt);
  }
  void cancel() override { asked_.made.reset(); }

 private:
  Asked& asked_;
};

}  // namespace stowage::session
