// Trace → Plan: lifetimes, placement, validation. Pure computation: no torch, no CUDA, no global state.
//
// Thread safety: make_plan is reentrant. Deterministic: the same trace and options give the same plan on
// every machine and with any number of threads, since limits count work first; only a `stop` or a time limit
// that fires can change the result.
#pragma once

#include <cstdint>
#include <limits>
#include <stop_token>

#include "core/plan.h"
#include "core/result.h"
#include "core/trace.h"

namespace stowage::planner {

struct PlanOptions {
  /// Upper limit of work over all techniques, in steps: one placed buffer looked at while another one's place
  /// is sought, about 1 ns each. The first technique is never cut short by it, so there is always a plan.
  std::uint64_t work_limit = 400'000'000;
  /// As `time_limit_s`, in steps over all placements that a plan takes: the same on a busy machine.
  std::uint64_t total_work = std::numeric_limits<std::uint64_t>::max();
  /// Seconds after which the best plan so far is returned even if work is left. A safety net: at the default
  /// work limit it does not fire on machines of today.
  double time_limit_s = 2.0;
  /// A placement so little above the lower bound will do, as a share of the bound: it is returned as soon as
  /// it is found. 0: the least height is sought until a limit fires. At least 0.
  double good_enough = 0;
  /// Threads that search at once, the calling one included; 0: as many as TBB thinks right. Never changes the
  /// plan.
  int threads = 0;
};

/// Plans the trace's steady window. Errors: kUnplannable (drops, no steady window, damaged lifetimes),
/// kCancelled, kInvalidPlan (the independent validator rejected
/// our own result: a defect, contained), kOutOfMemory (host), kInvalidArgument (an option outside its
/// bounds).
Result<Plan> make_plan(const Trace& trace, const PlanOptions& options, const std::stop_token& stop = {});

}  // namespace stowage::planner
