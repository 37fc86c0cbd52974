// Drives a trace's steady iterations through a plan.
#pragma once

#include <cstdint>

#include "allocator/model/caching_replay.h"
#include "allocator/model/steady_events.h"
#include "allocator/planned_allocator.h"
#include "core/plan.h"
#include "core/trace.h"

namespace stowage::replay {

using allocator::CachingModel;
using allocator::Figures;
using allocator::replay_caching;
using allocator::steady_events;
using allocator::SteadyEvent;
using allocator::SteadyEvents;

/// The outcome of following a plan.
struct PlannedReplay {
  Figures figures;  ///< of the planned part: the arena and what it holds
  allocator::ServeCounts counts;
  Bytes outside{
      0};  ///< bytes of the trace that upstream keeps serving: parameters, optimizer state, accumulating
};

/// Serves `iterations` repeats of the steady window from an arena of addresses that nobody dereferences; each
/// buffer is freed when the trace freed it, in the next iteration where it lived that long. Errors:
/// kUnplannable (no steady window), kInvalidPlan (the plan is not this trace's).
Result<PlannedReplay> replay_planned(const Trace& trace, const Plan& plan, std::uint32_t iterations);

}  // namespace stowage::replay
