// Makes schedules in the background while the job runs: one thread of low priority.
//
// Thread safety: one owner calls submit/poll/cancel. The destructor cancels and waits. fork(): as
// planner/background_work.h says.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "planner/background_work.h"
#include "planner/schedule/scheduler.h"

namespace stowage::planner::schedule {

/// How long to search.
enum class Effort : std::uint8_t {
  kFirst,  ///< a good one soon
  kMore,   ///< four times as long, for one that costs less
  kMost,   ///< ten times as long
};

/// The next longer one. Requires: it is not the longest.
[[nodiscard]] constexpr Effort longer(Effort effort) {
  return effort == Effort::kFirst ? Effort::kMore : Effort::kMost;
}

class BackgroundScheduler {
 public:
  /// Makes a schedule of a log within so many bytes.
  using Maker = std::function<Result<Schedule>(const StepLog&, Bytes, Effort, const std::stop_token&)>;

  /// make_schedule(); an arena fits into the budget too where such a schedule is found, else only the bytes
  /// held at a time do.
  static Result<Schedule> make(const StepLog& log, Bytes budget, Effort effort, const std::stop_token& stop);

  BackgroundScheduler() : BackgroundScheduler(make) {}
  explicit BackgroundScheduler(Maker maker) : maker_(std::move(maker)) {}

  /// Cancels what was under way. Error: no thread could be started.
  Status submit(std::shared_ptr<const StepLog> log, Bytes budget, Effort effort = Effort::kFirst);
  [[nodiscard]] bool busy() const { return work_.busy(); }
  /// The result if it is ready; waits at most `wait` for it. Each result is returned once.
  std::optional<Result<Schedule>> poll(std::chrono::nanoseconds wait);
  void cancel() { work_.cancel(); }

 private:
  Maker maker_;
  std::shared_ptr<std::optional<Result<Schedule>>> result_;
  BackgroundWork work_;
};

}  // namespace stowage::planner::schedule
