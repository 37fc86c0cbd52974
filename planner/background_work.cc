#include "planner/background_work.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

namespace stowage::planner {
namespace {

/// Linux gives each thread its own nice value. A refusal only means that the work competes with the job.
void lower_own_priority() {
  const auto self = static_cast<id_t>(::syscall(SYS_gettid));
  static_cast<void>(::setpriority(PRIO_PROCESS, self, 10));
}

/// Shared by the owner and the working thread.
struct Job {
  BackgroundWork::Body body;
  std::stop_source stop;

  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;  ///< guarded by mutex

  void run() {
    lower_own_priority();
    body(stop.get_token());
    const std::lock_guard lock(mutex);
    done = true;
    finished.notify_all();
  }
};

}  // namespace

struct BackgroundWork::State {
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

BackgroundWork::BackgroundWork()
    : BackgroundWork([](std::function<void()> body) { return std::thread(std::move(body)); }) {}

BackgroundWork::BackgroundWork(ThreadStarter starter) : state_(std::make_unique<State>()) {
  state_->starter = std::move(starter);
}

BackgroundWork::~BackgroundWork() {
  if (state_->forked()) {
    // The thread is the parent's, its mutex may be locked for ever here: leave all of it to the end of the
    // process.
    static_cast<void>(state_.release());
    return;
  }
  state_->stop();
}

Status BackgroundWork::start(Body body) {
  if (state_->forked())
    return Error{ErrorCode::kUnsupported, "a forked child does not plan; enable Stowage in the child itself"};
  state_->stop();
  auto job = std::make_shared<Job>();
  job->body = std::move(body);
  try {
    state_->thread = state_->starter([job] { job->run(); });
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kUnsupported, std::string("the planner's thread could not be started (") +
                                              error.what() + "); raise the process's thread limit"};
  }
  state_->job = std::move(job);
  return {};
}

bool BackgroundWork::busy() const { return !state_->forked() && state_->job != nullptr; }

bool BackgroundWork::finish(std::chrono::nanoseconds wait) {
  if (!busy()) return false;
  Job& job = *state_->job;
  {
    std::unique_lock lock(job.mutex);
    if (wait.count() > 0) job.finished.wait_for(lock, wait, [&] { return job.done; });
    if (!job.done) return false;
  }
  state_->stop();
  return true;
}

void BackgroundWork::cancel() {
  if (!state_->forked()) state_->stop();
}

}  // namespace stowage::planner
