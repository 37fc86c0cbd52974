// Writes traces by hand, as a recorder would: every event takes the next tick.
#pragma once

#include <cstdint>
#include <vector>

#include "core/trace.h"

namespace stowage::planner {

class TraceBuilder {
 public:
  TraceBuilder() { trace_.info.device.kind = DeviceKind::kCuda; }

  /// An allocation of `bytes` on `stream`; its index in the trace.
  std::uint32_t alloc(std::uint64_t bytes, std::uint32_t stream = 0) {
    Buffer buffer;
    buffer.bytes = Bytes(bytes);
    buffer.rounded = round_up(Bytes(bytes));
    buffer.stream = StreamId(stream);
    buffer.birth = next();
    trace_.buffers.push_back(buffer);
    return static_cast<std::uint32_t>(trace_.buffers.size() - 1);
  }
  /// Its free, requested and completed.
  void free(std::uint32_t buffer) {
    trace_.buffers[buffer].free_requested = trace_.buffers[buffer].death = next();
  }
  void use_on_other_stream(std::uint32_t buffer) { trace_.buffers[buffer].cross_stream = true; }
  /// An event that is no allocation.
  void op() { next(); }
  void mark() { trace_.marks.push_back({next(), MarkSource::kOptimizer}); }
  [[nodiscard]] Tick now() const { return Tick(tick_); }
  /// The trace, its steady window given by the ticks at which the last two windows begin and the last one
  /// ends.
  [[nodiscard]] Trace take(Tick previous_begin, Tick begin, Tick end) {
    trace_.steady = SteadyWindow{previous_begin, begin, end};
    trace_.end = now();
    return trace_;
  }

  /// The trace as it is recorded: what is steady is not known.
  [[nodiscard]] Trace take_unsteady() {
    Trace trace = take(Tick(0), Tick(1), now());
    trace.steady.reset();
    return trace;
  }

 private:
  Tick next() { return Tick(tick_++); }

  Trace trace_;
  std::uint64_t tick_ = 0;
};

}  // namespace stowage::planner
