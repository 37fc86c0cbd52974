// An independent check of a schedule: goes through the log event by event and does what the runtime would do.
//
// The rules are those of core/runtime/residency_contract.h. It shares no code with the scheduler's model,
// works on the log itself and favours plainness over speed. Thread safety: pure.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "core/step_log.h"

namespace stowage::planner::schedule {

struct Verdict {
  Bytes peak{0};  ///< most bytes held at a time
  std::uint64_t replays = 0;
  std::uint64_t replay_ns = 0;
  std::uint64_t copies = 0;
  std::uint64_t copy_ns = 0;
  std::uint64_t wait_ns = 0;  ///< for copies
};

/// Errors: what StepLog::validate() says; kInvalidPlan with the first op or action that is wrong: it is for
/// other ops, an action is out of order or for a buffer that may not go, is not there or is in use, a buffer
/// is not where the next iteration wants it, or more than `budget` is held.
[[nodiscard]] Result<Verdict> validate_schedule(const StepLog& log, const Schedule& schedule, Bytes budget);

}  // namespace stowage::planner::schedule
