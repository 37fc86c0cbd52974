#include "planner/background.h"

#include <algorithm>
#include <utility>

namespace stowage::planner {
namespace {

int background_threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency() / 2)); }

}  // namespace

/// What was submitted and, in the end, its result. Shared by the owner and the working thread.
struct BackgroundPlanner::Job {
  Kinds kinds;
  JointOptions options;
  std::optional<Result<JointPlan>> result;
};

Status BackgroundPlanner::submit(Kinds kinds, JointOptions options) {
  auto job = std::make_shared<Job>();
  job->kinds = std::move(kinds);
  job->options = std::move(options);
  if (job->options.threads == 0) job->options.threads = background_threads();
  if (Status started = work_.start([job, maker = maker_](const std::stop_token& stop) {
        job->result.emplace(maker(job->kinds, job->options, stop));
      });
      !started)
    return started;
  job_ = std::move(job);
  return {};
}

std::optional<Result<JointPlan>> BackgroundPlanner::poll(std::chrono::nanoseconds wait) {
  if (!work_.finish(wait)) return std::nullopt;
  return std::move(std::exchange(job_, nullptr)->result);
}

}  // namespace stowage::planner
