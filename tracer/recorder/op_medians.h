// The median time of an op over the iterations in which ops were recorded.
//
// One measurement of a kernel may be off by much: clocks go up and down, other work gets in between. The
// first iteration that is measured pays for attaching the instrument, so it does not count if there are
// others.
//
// Thread safety: a pure function.
#pragma once

#include <cstdint>

#include "core/trace.h"

namespace stowage::tracer {

/// Sets what a device measured of each op (its duration, and its row of Trace::on_device) to the median over
/// those iterations of `period` marks that made the same ops: the op is told by thread, name and how many
/// of these its thread had run before. Ops that the host timed are left alone. Requires: trace.steady.
void take_medians(Trace& trace, std::uint32_t period);

}  // namespace stowage::tracer
