// Plans in the background while the job goes on: one thread of low priority that leads a low-priority TBB
// arena.
//
// The thread runs at nice 10 and so do the TBB workers that it is the first to start. Half of the cores at
// most are used.
//
// Thread safety: one owner calls submit/poll/cancel; the work runs on other threads. The destructor cancels
// and waits (within 20 ms). fork(): in the child the work does not exist; there every call but the destructor
// says so, and the destructor touches nothing that the parent's thread may have held.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "planner/planner.h"

namespace stowage::planner {

class BackgroundPlanner {
 public:
  /// Starts a thread that runs `body`; throws std::system_error when there is none to be had, as std::thread
  /// does.
  using ThreadStarter = std::function<std::thread(std::function<void()> body)>;

  BackgroundPlanner();
  /// With another way to start threads, so that tests can refuse one.
  explicit BackgroundPlanner(ThreadStarter starter);
  ~BackgroundPlanner();
  BackgroundPlanner(const BackgroundPlanner&) = delete;
  BackgroundPlanner& operator=(const BackgroundPlanner&) = delete;

  /// Starts planning; cancels what was under way. The siblings are copied. Error: kUnsupported when no thread
  /// could be started, or in a forked child.
  Status submit(Trace trace, PlanOptions options);
  /// True between submit and the taking of its result.
  [[nodiscard]] bool busy() const;
  /// The result if it is there, waiting at most `wait` for it. Each result is given out once.
  std::optional<Result<Plan>> poll(std::chrono::nanoseconds wait = {});
  /// Asks the work to stop (within 20 ms); its result is dropped.
  void cancel();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stowage::planner
