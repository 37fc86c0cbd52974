// A budget and an iteration in, a schedule out: the seam behind which schedulers stand.
//
// GreedyScheduler is the sound one: many sweeps with different weights, each played through the model of the
// runtime, the best one trimmed of what it does not need and checked by the independent validator. Where all
// that comes and goes must also lie in one arena, the budget is tightened until the placed height fits.
//
// Thread safety: reentrant. Deterministic: limits count work; only a `stop` that fires can change the result.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "core/result.h"
#include "core/step_log.h"
#include "planner/schedule/model/op_graph.h"

namespace stowage::planner::schedule {

struct ScheduleOptions {
  Bytes smallest{1024};  ///< smaller buffers stay
  /// Steps of the search, about 1 ns each. The first sweep is never cut short.
  std::uint64_t work_limit = 1'000'000'000;
  std::uint64_t seed = 1;
  /// The height that the arena would have must be within the budget too, not only the bytes held at a time.
  bool placed = true;
  /// Where no placed height within the budget is found: a schedule that only holds so much at a time, whose
  /// height says that no arena fits.
  bool or_unplaced = false;
};

/// Makes schedules. Implementations are pure; see the file's head.
class Scheduler {
 public:
  Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  virtual ~Scheduler() = default;

  /// A schedule for the log's iteration under which at most `budget` bytes are held. Errors: kUnplannable,
  /// with the least budget for which a schedule was found, or for a log that is not valid; kCancelled.
  [[nodiscard]] virtual Result<Schedule> make(const StepLog& log, Bytes budget,
                                              const ScheduleOptions& options,
                                              const std::stop_token& stop) const = 0;
};

class GreedyScheduler final : public Scheduler {
 public:
  [[nodiscard]] Result<Schedule> make(const StepLog& log, Bytes budget, const ScheduleOptions& options,
                                      const std::stop_token& stop) const override;
};

/// With the scheduler that is best now; contains failures: kOutOfMemory (host), kInternal.
[[nodiscard]] Result<Schedule> make_schedule(const StepLog& log, Bytes budget, const ScheduleOptions& options,
                                             const std::stop_token& stop = {});

}  // namespace stowage::planner::schedule
