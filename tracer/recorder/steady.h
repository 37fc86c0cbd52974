// Finds the steady state of a job: the shortest period, in marks, whose last two windows made the same
// allocations.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <deque>

#include "core/trace.h"
#include "tracer/recorder/log.h"

namespace stowage::tracer {

/// What happened from one mark (inclusive) to the next (exclusive). Indices are of the recorder's logs.
struct Segment {
  Tick begin{0};
  Tick end{0};
  std::uint64_t first_buffer = 0;
  std::uint64_t end_buffer = 0;
  std::uint64_t first_op = 0;
  std::uint64_t first_value = 0;
  std::uint64_t first_mark = 0;
  Fingerprint fingerprint;    ///< of its allocations
  std::uint64_t dropped = 0;  ///< events lost in it; such a segment equals no other
};

/// The smallest p in [1, max_period] such that the last p segments made the same allocations as the p before
/// them, or 0. Hashes only choose candidates: what is returned was compared allocation by allocation in
/// `buffers`.
std::uint32_t find_period(const std::deque<Segment>& segments, const Log<Buffer>& buffers,
                          std::uint32_t max_period);

}  // namespace stowage::tracer
