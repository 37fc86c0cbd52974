#include "session/ranks/store_thread.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

namespace stowage::session {
namespace {

template <class Work>
Status contained(const Work& work) noexcept try {
  return work();
} catch (const std::exception& error) {
  return Error{ErrorCode::kIo, std::string("the store of the job's ranks failed: ") + error.what()};
} catch (...) {
  return Error{ErrorCode::kIo, "the store of the job's ranks failed"};
}

}  // namespace

/// Between owner and thread. All but `thread` is guarded by the mutex.
struct StoreThread::Line {
  std::mutex mutex;
  std::condition_variable_any changed;
  Task task;           ///< waits to be done
  bool busy = true;    ///< inside the store: while connecting, too
  bool ended = false;  ///< the owner is gone
  Status failed;       ///< there will be no further call
  std::thread thread;  ///< the owner's
};

StoreThread::StoreThread(Connect connect) : line_(std::make_shared<Line>()) {
  try {
    line_->thread = std::thread([line = line_, connect = std::move(connect)] { serve(line, connect); });
  } catch (const std::system_error& error) {
    line_->busy = false;
    line_->failed =
        Error{ErrorCode::kUnsupported, std::string("no thread could be started: ") + error.what()};
  }
}

StoreThread::~StoreThread() {
  if (!line_->thread.joinable()) return;
  bool busy = false;
  {
    const std::lock_guard lock(line_->mutex);
    line_->ended = true;
    busy = line_->busy;
    line_->changed.notify_all();
  }
  busy ? line_->thread.detach() : line_->thread.join();
}

void StoreThread::serve(const std::shared_ptr<Line>& line, const Connect& connect) noexcept {
  std::unique_ptr<RankStore> store;
  const Status connected = contained([&]() -> Status {
    Result<std::unique_ptr<RankStore>> made = connect();
    if (!made) return made.error();
    store = std::move(*made);
    return {};
  });
  std::unique_lock lock(line->mutex);
  line->failed = connected;
  while (true) {
    line->busy = false;
    line->changed.notify_all();
    line->changed.wait(lock, [&] { return line->ended || line->task; });
    if (line->ended || !line->failed) break;
    const Task task = std::exchange(line->task, nullptr);
    line->busy = true;
    lock.unlock();
    const Status done = contained([&]() -> Status {
      task(*store);
      return {};
    });
    lock.lock();
    if (!done) line->failed = done;
  }
  lock.unlock();
  static_cast<void>(contained([&]() -> Status {
    store.reset();
    return {};
  }));
}

Status StoreThread::run(Task task, std::chrono::nanoseconds bound, const std::stop_token& stop) {
  std::unique_lock lock(line_->mutex);
  const auto deadline = std::chrono::steady_clock::now() + bound;
  const auto idle = [this] { return !line_->busy && !line_->task; };
  const auto await = [&]() -> Status {
    if (line_->changed.wait_until(lock, stop, deadline, idle)) return {};
    line_->failed = stop.stop_requested()
                        ? Error{ErrorCode::kCancelled, "it was cancelled"}
                        : Error{ErrorCode::kTimeout, "the store of the job's ranks did not answer in time"};
    return line_->failed;
  };
  if (line_->failed.ok()) static_cast<void>(await());  // until it is connected
  if (!line_->failed) return line_->failed;
  line_->task = std::move(task);
  line_->changed.notify_all();
  if (Status answered = await(); !answered) return answered;
  return line_->failed;
}

}  // namespace stowage::session
