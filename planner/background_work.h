// One piece of work at a time on a thread of its own, while the job runs.
//
// The thread runs at nice 10, and so do the TBB workers that it is the first to start.
//
// Thread safety: one owner calls the members. The destructor cancels and waits for the work, which must heed
// its token. fork(): in the child the work does not exist; there start() is an error, nothing is busy, and
// the destructor touches nothing that the parent's thread may have held.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>

#include "core/result.h"

namespace stowage::planner {

class BackgroundWork {
 public:
  /// What is done. Must own what it uses.
  using Body = std::function<void(const std::stop_token& stop)>;
  /// Starts a thread that runs `body`; throws std::system_error when the system has none, as std::thread
  /// does.
  using ThreadStarter = std::function<std::thread(std::function<void()> body)>;

  BackgroundWork();
  /// With another way to start threads, so that tests can refuse one.
  explicit BackgroundWork(ThreadStarter starter);
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  /// Cancels what was under way. Error: kUnsupported when no thread could be started, or in a forked child.
  Status start(Body body);
  /// True between start and the finish() or cancel() that ends it.
  [[nodiscard]] bool busy() const;
  /// True, once, when the work is done, waiting at most `wait` for that. What it wrote may be read then.
  bool finish(std::chrono::nanoseconds wait);
  /// Asks the work to stop and waits until it has.
  void cancel();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stowage::planner
