// A plan source that plans at once and lets a test change its first plan.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "planner/planner.h"
#include "session/plans/plan_source.h"

namespace stowage::session {

class ChangedPlans final : public PlanSource {
 public:
  using Change = std::function<void(Plan&)>;

  explicit ChangedPlans(Change change) : change_(std::move(change)) {}
  Status submit(Trace trace, planner::PlanOptions options) override {
    made_ = planner::make_plan(trace, options);
    if (made_->ok() && change_) std::exchange(change_, nullptr)(**made_);
    return {};
  }
  std::optional<Result<Plan>> poll(std::chrono::nanoseconds) override {
    return std::exchange(made_, std::nullopt);
  }
  void cancel() override {}

 private:
  Change change_;
  std::optional<Result<Plan>> made_;
};

}  // namespace stowage::session
