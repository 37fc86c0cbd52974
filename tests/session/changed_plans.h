// A plan source that plans at once and lets a test change its first plans.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "planner/joint_planner.h"
#include "session/plans/plan_source.h"

namespace stowage::session {

class ChangedPlans final : public PlanSource {
 public:
  using Change = std::function<void(Plan&)>;

  explicit ChangedPlans(Change change) : change_(std::move(change)) {}
  Status submit(planner::Kinds kinds, planner::JointOptions options) override {
    made_ = planner::make_plans(kinds, options);
    if (made_->ok() && change_) change_all(std::exchange(change_, nullptr), **made_);
    return {};
  }
  std::optional<Result<JointPlan>> poll(std::chrono::nanoseconds) override {
    return std::exchange(made_, std::nullopt);
  }
  void cancel() override {}

 private:
  static void change_all(const Change& change, JointPlan& made) {
    made.height = Bytes(0);
    for (Plan& plan : made.plans) {
      change(plan);
      made.height = std::max(made.height, plan.height);
    }
  }

  Change change_;
  std::optional<Result<JointPlan>> made_;
};

}  // namespace stowage::session
