// Plans in the background while the job runs: one thread of low priority that leads a low-priority TBB
// arena. Half of the cores at most are used.
//
// Thread safety: one owner calls submit/poll/cancel; the work runs on other threads. The destructor cancels
// and waits (within 20 ms). fork(): as background_work.h says.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "planner/background_work.h"
#include "planner/joint_planner.h"

namespace stowage::planner {

class BackgroundPlanner {
 public:
  using ThreadStarter = BackgroundWork::ThreadStarter;

  BackgroundPlanner() = default;
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
  std::shared_ptr<Job> job_;
  BackgroundWork work_;
};

}  // namespace stowage::planner
