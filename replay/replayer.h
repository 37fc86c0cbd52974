// Drives a trace's steady iterations through a plan, and a whole trace through a model of PyTorch's
// allocator.
#pragma once

#include <cstdint>
#include <optional>

#include "allocator/planned_allocator.h"
#include "core/plan.h"
#include "core/trace.h"
#include "replay/caching_model.h"

namespace stowage::replay {

/// What one way of serving a trace costs.
struct Figures {
  Bytes peak_live{0};  ///< most bytes that were live at once
  Bytes reserved{0};   ///< bytes taken from the device
  /// Share of the reserved bytes that was not live at the peak, in [0, 1].
  [[nodiscard]] double fragmentation() const;
};

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

/// What PyTorch's allocator would reserve for the job: serves the trace from its first event on, then repeats
/// its steady iteration a dozen times. Nothing where the trace does not begin at the job's first allocation
/// (Trace::from_first_allocation): what is reserved depends on all that came before.
std::optional<Figures> replay_caching(const Trace& trace, CachingModel::Segments segments);

}  // namespace stowage::replay
