// Plans in the background while the job runs: one thread of low priority that leads a low-priority TBB
// arena. Half of the cores at most are used.
//
// Thread safety: one owner calls submit/poll/cancel; the work runs on other threads. The destructor cancels
// and waits (within 20 ms). fork(): as background_work.h says.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "planner/background_work.h"
#include "planner/joint_planner.h"

namespace stowage::planner {

class BackgroundPlanner {
 public:
  using ThreadStarter = BackgroundWork::ThreadStarter;
  /// Makes the plans of some kinds, as make_plans() does. Must own what it uses.
  using Maker = std::function<Result<JointPlan>(const Kinds&, const JointOptions&, const std::stop_token&)>;

  BackgroundPlanner() = default;
  /// With another maker than make_plans().
  explicit BackgroundPlanner(Maker maker) : maker_(std::move(maker)) {}
  /// With another way to start threads, so that tests can refuse one.
  explicit BackgroundPlanner(ThreadStarter starter) : work_(std::move(starter)) {}

  /// Starts planning; cancels what was under way. Error: kUnsupported when no thread could be started, or in
  /// a forked child.
  Status submit(Kinds kinds, JointOptions options);
  /// True between submit and the taking of its result.
  [[nodiscard]] bool busy() const { return work_.busy(); }
  /// The result if it is ready; waits at most `wait` for it. Each result is returned once.
  std::optional<Result<JointPlan>> poll(std::chrono::nanoseconds wait = {});
  /// Asks the work to stop (within 20 ms); its result is dropped.
  void cancel() { work_.cancel(); }

 private:
  struct Job;
  Maker maker_ = make_plans;
  std::shared_ptr<Job> job_;
  BackgroundWork work_;
};

}  // namespace stowage::planner
