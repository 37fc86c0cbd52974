#include "session/plans/plan_source.h"

#include <utility>

#include "planner/background.h"

namespace stowage::session {
namespace {

class BackgroundSource final : public PlanSource {
 public:
  explicit BackgroundSource(planner::BackgroundPlanner::Maker maker) : planner_(std::move(maker)) {}
  Status submit(planner::Kinds kinds, planner::JointOptions options) override {
    return planner_.submit(std::move(kinds), std::move(options));
  }
  std::optional<Result<JointPlan>> poll(std::chrono::nanoseconds wait) override {
    return planner_.poll(wait);
  }
  void cancel() override { planner_.cancel(); }

 private:
  planner::BackgroundPlanner planner_;
};

class FailingSource final : public PlanSource {
 public:
  explicit FailingSource(Fault fault) : fault_(fault) {}
  Status submit(planner::Kinds, planner::JointOptions) override {
    if (fault_ == Fault::kThread)
      return Error{ErrorCode::kUnsupported, "no thread could be started (STOWAGE_FAULT)"};
    return {};
  }
  std::optional<Result<JointPlan>> poll(std::chrono::nanoseconds) override {
    return Result<JointPlan>(Error{ErrorCode::kInternal, "the planner failed (STOWAGE_FAULT)"});
  }
  void cancel() override {}

 private:
  Fault fault_;
};

}  // namespace

std::unique_ptr<PlanSource> make_plan_source(Fault fault, RankSharing* sharing) {
  if (fault == Fault::kThread || fault == Fault::kPlanner) return std::make_unique<FailingSource>(fault);
  if (sharing != nullptr) return std::make_unique<BackgroundSource>(sharing->plan_maker());
  return std::make_unique<BackgroundSource>(planner::make_plans);
}

}  // namespace stowage::session
