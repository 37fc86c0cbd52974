// The iterations at the end of a trace.
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

/// The last `marks` windows as one. Nothing if the trace has fewer. Requires: marks > 0.
std::optional<Window> last_window(const Trace& trace, std::uint32_t marks);

}  // namespace stowage::session
