// Trace → Plan: lifetimes, placement, validation. Pure computation: no torch, no CUDA, no global state.
//
// Thread safety: make_plan is reentrant. Deterministic: the same trace and options give the same plan on every machine,
// since limits count work first; only a `stop` that fires can change the result.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "core/plan.h"
#include "core/result.h"
#include "core/trace.h"

namespace stowage::planner {

struct PlanOptions {
  /// Upper limit of work, in placements tried (one buffer put at one offset), over all techniques.
  std::uint64_t work_limit = 20'000'000;
  /// Seconds after which the best plan so far is returned even if work is left.
  double time_limit_s = 2.0;
  /// Plans of other kinds of iteration of the same job: buffers that live across the boundary keep their offsets.
  std::vector<const Plan*> siblings;
};

/// Plans the trace's steady window. Errors: kUnplannable (drops, no steady window, damaged lifetimes), kCancelled,
/// kTimeout, kInvalidPlan (the independent validator rejected our own result: a defect, contained).
Result<Plan> make_plan(const Trace& trace, const PlanOptions& options, std::stop_token stop = {});

}  // namespace stowage::planner
