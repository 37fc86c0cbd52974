// The steady window of a trace as the sequence of requests and frees that repeats in every iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "core/trace.h"

namespace stowage::allocator {

/// `ordinal` counts the window's allocations from 0. A free ends the buffer that was allocated at `ordinal`
/// in this iteration, or in the one before when `from_previous`.
struct SteadyEvent {
  enum class Kind : std::uint8_t { kAllocate, kFree } kind = Kind::kAllocate;
  bool from_previous = false;
  std::uint32_t ordinal = 0;
};

struct SteadyEvents {
  std::vector<SteadyEvent> events;         ///< in order of tick
  std::vector<const Buffer*> allocations;  ///< by ordinal
};

/// Error: kUnplannable when the trace has no steady window. The result points into `trace`.
Result<SteadyEvents> steady_events(const Trace& trace);

}  // namespace stowage::allocator
