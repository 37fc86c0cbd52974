// Where a session's plans come from: the background planner, which asks the job's other ranks first, or one
// made to fail.
//
// Thread safety: one owner calls the members, one at a time.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "planner/joint_planner.h"
#include "session/ranks/rank_sharing.h"
#include "session/settings/settings.h"

namespace stowage::session {

class PlanSource {
 public:
  virtual ~PlanSource() = default;
  /// Starts planning. Error: no thread could be started.
  virtual Status submit(planner::Kinds kinds, planner::JointOptions options) = 0;
  /// The result if it is ready, waiting at most `wait`. Returns each result once.
  virtual std::optional<Result<JointPlan>> poll(std::chrono::nanoseconds wait) = 0;
  virtual void cancel() = 0;
};

/// planner::BackgroundPlanner, or for Fault::kThread and Fault::kPlanner a source that fails accordingly.
/// `sharing`: with other ranks; null: every plan is made here. Must outlive the source.
std::unique_ptr<PlanSource> make_plan_source(Fault fault, RankSharing* sharing);

}  // namespace stowage::session
