// A trace as a timeline in the JSON format of Chrome and Perfetto, with the names that PyTorch's own profiler
// gives things, so that tools which read its traces read these, too.
//
// Rows: the job's threads with its ops and their calls of the CUDA API; the device's streams with kernels,
// copies and fills, and arrows from the calls that launched them; iterations, and the session's phases; and
// the live bytes as a counter. Times are microseconds since the trace's clock began. Events of allocations
// have no time of their own: it is interpolated between the ops and marks around them.
//
// Format: "Trace Event Format", as torch.profiler writes it (schemaVersion 1).
// Thread safety: functions without state.
#pragma once

#include <ostream>

#include "core/result.h"
#include "core/trace.h"

namespace stowage::replay {

/// Writes the timeline to `out`. Error: kUnplannable if the trace knows no times; kIo if `out` fails.
/// Requires: the trace is valid.
Status write_timeline(const Trace& trace, std::ostream& out);

}  // namespace stowage::replay
