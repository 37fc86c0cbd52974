// The iterations of a trace, and how to turn one of them into a trace for the planner.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/plan.h"
#include "core/trace.h"

namespace stowage::session {

/// The most marks that an iteration may have.
inline constexpr std::uint32_t kMaxPeriodMarks = 8;

/// A stretch of a trace from one mark's tick to another's, half-open. As in tracer/recorder/recorder.h the
/// mark is the first event of what follows it.
struct Window {
  Tick begin{0};
  Tick end{0};
  std::uint64_t fingerprint = 0;
};

/// Identifies a kind of iteration: the same allocations, of which the same ones live past its end. Mixes the
/// fingerprint with the ordinals of the latter, except of cross-stream buffers, whose lifetime does not
/// depend on the job alone.
std::uint64_t kind_of_iteration(const Trace& trace, const Window& window);
/// The same from an iteration's plan.
std::uint64_t kind_of_iteration(const Plan& plan);

/// The windows between neighbouring marks, in order. Events before the first mark belong to none.
std::vector<Window> windows_of(const Trace& trace);

/// The last `marks` windows as one. Nothing if the trace has fewer. Requires: marks > 0.
std::optional<Window> last_window(const Trace& trace, std::uint32_t marks);

/// A trace in which `window` happens twice in a row; the second time is the steady window.
/// A buffer that crosses the window's end dies in the repetition as late after it as it
/// did in `trace`, or lives on. If the matching buffer that was carried into the window
/// (same size and stream, in order of birth) died later in it, the buffer dies as late as
/// that one: the next iteration in `trace` may have been of another kind. Ops are left
/// out.
Trace repeat_window(const Trace& trace, const Window& window);

}  // namespace stowage::session
