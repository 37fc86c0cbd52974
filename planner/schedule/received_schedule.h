// A schedule that another process made from its log of the same iteration, before it is followed here.
//
// Only its actions are taken over. They go through the independent validator on this process's own log and
// within its budget; what the schedule costs and takes is counted anew.
//
// Thread safety: pure.
#pragma once

#include <stop_token>
#include <vector>

#include "core/result.h"
#include "core/step_log.h"

namespace stowage::planner::schedule {

/// The schedule that consists of `actions`, for the log's iteration. Errors: kInvalidPlan, saying what does
/// not fit; kCancelled; what validate_schedule() says of the log.
[[nodiscard]] Result<Schedule> accept_schedule(const StepLog& log, std::vector<Action> actions, Bytes budget,
                                               const std::stop_token& stop = {});

}  // namespace stowage::planner::schedule
