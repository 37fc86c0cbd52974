#include "planner/background.h"

#include <algorithm>
#include <list>
#include <utility>

namespace stowage::planner {
namespace {

int background_threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency() / 2)); }

}  // namespace

/// One submitted trace and, in the end, its result. Shared by the owner and the working thread.
struct BackgroundPlanner::Job {
  Trace trace;
  PlanOptions options;
  std::list<Plan> siblings;  ///< what options.siblings points to
  std::optional<Result<Plan>> result;
};

Status BackgroundPlanner::submit(Trace trace, PlanOptions options) {
  auto job = std::make_shared<Job>();
  job->trace = std::move(trace);
  job->options = std::move(options);
  for (const Plan*& sibling : job->options.siblings) {
    if (sibling != nullptr) sibling = &job->siblings.emplace_back(*sibling);
  }
  if (job->options.threads == 0) job->options.threads = background_threads();
  if (Status started = work_.start([job](const std::stop_token& stop) {
        job->result.emplace(make_plan(job->trace, job->options, stop));
      });
      !started)
    return started;
  job_ = std::move(job);
  return {};
}

std::optional<Result<Plan>> BackgroundPlanner::poll(std::chrono::nanoseconds wait) {
  if (!work_.finish(wait)) return std::nullopt;
  return std::move(std::exchange(job_, nullptr)->result);
}

}  // namespace stowage::planner
