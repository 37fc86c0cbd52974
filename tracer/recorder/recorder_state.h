// What a Recorder holds, and the rules of forgetting. Private to the recorder's own files.
//
// Thread safety: `mutex` guards everything; the members below expect it held.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracer/recorder/buffer_book.h"
#include "tracer/recorder/op_book.h"
#include "tracer/recorder/recorder.h"
#include "tracer/recorder/steady.h"

namespace stowage::tracer {

/// CLOCK_MONOTONIC and CLOCK_REALTIME at one moment, in ns.
struct ClockOrigin {
  static ClockOrigin now();
  /// A time of CLOCK_MONOTONIC by the trace's clock, which began here.
  [[nodiscard]] std::uint64_t since(std::uint64_t moment_ns) const {
    return moment_ns > steady_ns ? moment_ns - steady_ns : 0;
  }
  std::uint64_t steady_ns = 0;
  std::uint64_t realtime_ns = 0;
};

/// What set_activities() was given.
struct RecordedActivities {
  std::vector<Activity> rows;
  std::vector<std::string> names;
  ActivityLosses losses;
};

struct Recorder::State {
  State(TraceInfo trace_info, RecorderOptions recorder_options)
      : info(std::move(trace_info)), options(recorder_options), origin(ClockOrigin::now()) {}

  Tick take_tick() { return Tick(next_tick++); }
  [[nodiscard]] std::uint64_t stored() const {
    return buffers.log().size() + ops.log().size() + ops.values().size() + marks.size();
  }
  /// Makes room for `count` events by forgetting old segments; else counts them as dropped and returns false.
  bool make_room(std::uint64_t count);
  /// Forgets the oldest segment. Requires: there is one.
  void forget_oldest();
  /// Closes the current segment with a mark of `source` and begins the next.
  void close_segment(MarkSource source);
  /// Enters an allocation that is born now. Requires: the mutex is held.
  void add(const void* address, Buffer buffer);
  /// A segment that begins here and now, with mark `first_mark` as its first event if that is there.
  [[nodiscard]] Segment segment_from_here(Tick begin, std::uint64_t first_mark) const;

  /// The index of the first segment that a snapshot of `extent` holds.
  [[nodiscard]] std::size_t first_window(Extent extent) const;

  mutable std::mutex mutex;
  const TraceInfo info;
  const RecorderOptions options;
  const ClockOrigin origin;
  std::uint64_t next_tick = 0;
  BufferBook buffers;
  std::unordered_map<const void*, Buffer> unrecorded;  // what was allocated Unrecorded and is not free yet
  OpBook ops;
  Log<Mark> marks;  // at_ns is of CLOCK_MONOTONIC
  RecordedActivities activities;
  std::deque<Segment> segments;  // closed ones, oldest first, all of whose events are kept
  Segment current;
  std::uint32_t period = 0;  // marks a steady window holds; 0 when not steady
  std::uint64_t dropped = 0;
  bool forgot = false;  // events of the beginning are gone
  bool only_grew = options.from_first_allocation;
};

}  // namespace stowage::tracer
