// Plans on a TBB thread of low priority while the job goes on.
//
// Thread safety: one owner calls submit/poll/cancel; the work runs on TBB's threads. The destructor cancels and waits.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "planner/planner.h"

namespace stowage::planner {

class BackgroundPlanner {
 public:
  BackgroundPlanner();
  ~BackgroundPlanner();
  BackgroundPlanner(const BackgroundPlanner&) = delete;
  BackgroundPlanner& operator=(const BackgroundPlanner&) = delete;

  /// Starts planning; cancels what was under way. Error: kUnsupported when no thread could be started.
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
