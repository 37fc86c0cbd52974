// Trace → Plan: lifetimes, placement, validation. Pure computation: no torch, no CUDA, no global state.
//
// Thread safety: make_plan is reentrant. Deterministic: the same trace and options give the same plan on
// every machine and with any number of threads, since limits count work first; only a `stop` or a time limit
// that fires can change the result.
#pragma once

#include <stop_token>

#include "core/plan.h"
#include "core/result.h"
#include "core/trace.h"
#include "planner/plan_options.h"

namespace stowage::planner {

/// Plans the trace's steady window. Errors: kUnplannable (drops, no steady window, damaged lifetimes),
/// kCancelled, kInvalidPlan (the independent validator rejected
/// our own result: a defect, contained), kOutOfMemory (host), kInvalidArgument (an option outside its
/// bounds).
Result<Plan> make_plan(const Trace& trace, const PlanOptions& options, const std::stop_token& stop = {});

}  // namespace stowage::planner
