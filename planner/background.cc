#include "planner/background.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <system_error>
#include <utility>

namespace stowage::planner {
namespace {

/// Linux gives each thread its own nice value. A refusal only means that planning competes with the job.
void lower_own_priority() {
  const auto self = static_cast<id_t>(::syscall(SYS_gettid));
  static_cast<void>(::setpriority(PRIO_PROCESS, self, 10));
}

int background_threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency() / 2)); }

/// One submitted trace and, in the end, its result. Shared by the owner and the working thread.
struct Job {
  Trace trace;
  PlanOptions options;
  std::list<Plan> siblings;  ///< what options.siblings points to
  std::stop_source stop;

  std::mutex mutex;
  std::condition_variable finished;
  std::optional<Result<Plan>> result;  ///< guarded by mutex

  void run() {
    lower_own_priority();
    Result<Plan> made = make_plan(trace, options, stop.get_token());
    const std::lock_guard lock(mutex);
    result.emplace(std::move(made));
    finished.notify_all();
  }
};

std::shared_ptr<Job> make_job(Trace trace, PlanOptions options) {
  auto job = std::make_shared<Job>();
  job->trace = std::move(trace);
  job->options = std::move(options);
  for (const Plan*& sibling : job->options.siblings) {
    if (sibling != nullptr) sibling = &job->siblings.emplace_back(*sibling);
  }
  if (job->options.threads == 0) job->options.threads = background_threads();
  return job;
}

}  // namespace

struct BackgroundPlanner::State {
  ThreadStarter starter;
  pid_t process = ::getpid();
  std::shared_ptr<Job> job;
  std::thread thread;

  [[nodiscard]] bool forked() const { return ::getpid() != process; }
  void stop() {
    if (job) job->stop.request_stop();
    if (thread.joinable()) thread.join();
    job.reset();
  }
};

BackgroundPlanner::BackgroundPlanner()
    : BackgroundPlanner([](std::function<void()> body) { return std::thread(std::move(body)); }) {}

BackgroundPlanner::BackgroundPlanner(ThreadStarter starter) : state_(std::make_unique<State>()) {
  state_->starter = std::move(starter);
}

BackgroundPlanner::~BackgroundPlanner() {
  if (state_->forked()) {
    // The thread is the parent's, its mutex may be locked for ever here: leave all of it to the end of the
    // process.
    static_cast<void>(state_.release());
    return;
  }
  state_->stop();
}

Status BackgroundPlanner::submit(Trace trace, PlanOptions options) {
  if (state_->forked()) {
    return Error{ErrorCode::kUnsupported, "a forked child does not plan; enable Stowage in the child itself"};
  }
  state_->stop();
  auto job = make_job(std::move(trace), std::move(options));
  try {
    state_->thread = state_->starter([job] { job->run(); });
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kUnsupported,
                 std::string("no thread to plan on (") + error.what() +
                     "); raise the process's thread limit, the job goes on unplanned"};
  }
  state_->job = std::move(job);
  return {};
}

bool BackgroundPlanner::busy() const { return !state_->forked() && state_->job != nullptr; }

std::optional<Result<Plan>> BackgroundPlanner::poll(std::chrono::nanoseconds wait) {
  if (!busy()) return std::nullopt;
  Job& job = *state_->job;
  std::optional<Result<Plan>> taken;
  {
    std::unique_lock lock(job.mutex);
    if (wait.count() > 0) job.finished.wait_for(lock, wait, [&] { return job.result.has_value(); });
    if (!job.result) return std::nullopt;
    taken = std::move(job.result);
  }
  state_->stop();
  return taken;
}

void BackgroundPlanner::cancel() {
  if (!state_->forked()) state_->stop();
}

}  // namespace stowage::planner
