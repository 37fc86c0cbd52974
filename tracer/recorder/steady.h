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
  std::uint64_t hash =
      0;  ///< over (rounded, stream) of its allocations, in order; equal sequences have equal hashes
  std::uint64_t dropped = 0;  ///< events lost in it; such a segment equals no other
};

/// `hash` continued by one allocation.
constexpr std::uint64_t extend_hash(std::uint64_t hash, Bytes rounded, StreamId stream) {
  hash ^= rounded.value() + (static_cast<std::uint64_t>(stream.value()) << 56);
  hash *= 0xFF51AFD7ED558CCDull;
  return hash ^ (hash >> 32);
}

/// The smallest p in [1, max_period] such that the last p segments made the same allocations as the p before
/// them, or 0. Hashes only choose candidates: what is returned was compared allocation by allocation in
/// `buffers`.
std::uint32_t find_period(const std::deque<Segment>& segments, const Log<Buffer>& buffers,
                          std::uint32_t max_period);

}  // namespace stowage::tracer
