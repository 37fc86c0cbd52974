// The iterations of a trace, and how one of them is made into a trace that can be planned from.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/plan.h"
#include "core/trace.h"

namespace stowage::session {

/// Most marks that an iteration may have.
inline constexpr std::uint32_t kMaxPeriodMarks = 8;

/// A stretch of a trace from one mark's tick to another's, half-open. As in tracer/recorder/recorder.h the
/// mark is the first event of what follows it.
struct Window {
  Tick begin{0};
  Tick end{0};
  std::uint64_t fingerprint = 0;
};

/// Iterations of one kind make the same allocations and keep the same ones past their end: the fingerprint,
/// mixed with which allocations those are (where other streams use one, it is not told by the job alone: left
/// out).
std::uint64_t kind_of_iteration(const Trace& trace, const Window& window);
/// The same from an iteration's plan.
std::uint64_t kind_of_iteration(const Plan& plan);

/// What lies between each two neighbouring marks, in order. What came before the first mark belongs to none.
std::vector<Window> windows_of(const Trace& trace);

/// The last `marks` windows as one. Nothing when the trace has fewer. Requires: marks > 0.
std::optional<Window> last_window(const Trace& trace, std::uint32_t marks);

/// A trace in which `window` happens twice in a row; the second time is the steady window. A buffer that
/// crosses the window's end dies in the repetition as late after it as it did in `trace`, or lives on. Ops
/// are left out.
/// Where that is sooner than the buffer of its kind (size, stream; in order of birth) that was carried into
/// the window died in it, it dies as late as that one: another kind of iteration may have come next in
/// `trace`.
Trace repeat_window(const Trace& trace, const Window& window);

}  // namespace stowage::session
