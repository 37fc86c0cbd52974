#include "planner/schedule/background.h"

#include <utility>

namespace stowage::planner::schedule {

Result<Schedule> BackgroundScheduler::make(const StepLog& log, Bytes budget, Effort effort,
                                           const std::stop_token& stop) {
  constexpr std::uint64_t kMoreWork = 4, kMostWork = 10;
  ScheduleOptions options;
  if (effort == Effort::kMore) options.work_limit *= kMoreWork;
  if (effort == Effort::kMost) options.work_limit *= kMostWork;
  options.or_unplaced = true;
  return make_schedule(log, budget, options, stop);
}

Status BackgroundScheduler::submit(std::shared_ptr<const StepLog> log, Bytes budget, Effort effort) {
  auto result = std::make_shared<std::optional<Result<Schedule>>>();
  if (Status started =
          work_.start([maker = maker_, log = std::move(log), budget, effort,
                       result](const std::stop_token& stop) { *result = maker(*log, budget, effort, stop); });
      !started)
    return started;
  result_ = std::move(result);
  return {};
}

std::optional<Result<Schedule>> BackgroundScheduler::poll(std::chrono::nanoseconds wait) {
  if (!work_.finish(wait)) return std::nullopt;
  return std::move(*std::exchange(result_, nullptr));
}

}  // namespace stowage::planner::schedule
