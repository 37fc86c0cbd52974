#include "recompute/stores/copy_thread.h"

#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace stowage::recompute {
namespace {

using Task = std::packaged_task<Status()>;

// Signals are for the job's own threads.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;
  ~WithoutSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

struct CopyThread::Running {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> waiting;
  bool busy = false;
  bool ends = false;
  std::thread thread;

  Running() {
    const WithoutSignals inherited;
    thread = std::thread([this] { run(); });
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    {
      const std::lock_guard lock(mutex);
      ends = true;
      changed.notify_all();
    }
    thread.join();
  }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return ends || !waiting.empty(); });
      if (waiting.empty()) return;
      Task task = std::move(waiting.front());
      waiting.pop_front();
      busy = true;
      lock.unlock();
      task();
      lock.lock();
      busy = false;
      changed.notify_all();
    }
  }

  void add(Task task) {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(task));
    changed.notify_all();
  }

  void finish_all() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return waiting.empty() && !busy; });
  }
};

CopyThread::CopyThread() = default;
CopyThread::~CopyThread() = default;

std::future<Status> CopyThread::begin(Copy copy) {
  Task task(std::move(copy));
  std::future<Status> done = task.get_future();
  try {
    if (running_ == nullptr) running_ = std::make_unique<Running>();
  } catch (const std::system_error&) {
    task();
    return done;
  }
  running_->add(std::move(task));
  return done;
}

void CopyThread::finish_all() {
  if (running_ != nullptr) running_->finish_all();
}

// The thread is the parent's, and its mutex may be locked for ever here: both are left to the end of the
// process.
void CopyThread::after_fork_in_child() { static_cast<void>(running_.release()); }

}  // namespace stowage::recompute
