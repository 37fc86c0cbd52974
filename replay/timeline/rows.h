// Where a timeline draws things, and what its rows are called.
//
// A device is the process of its index, as in torch's own traces. Calls of the API have a row beside their
// thread's ops: two clocks that were aligned may differ by enough for a call to stick out of its op, and
// viewers draw a row wrongly that holds slices which cross. Thread safety: const functions are safe from all
// threads.
#pragma once

#include <cstdint>
#include <map>

#include "core/trace.h"
#include "replay/timeline/events.h"

namespace stowage::replay {

/// It ran on a stream: a kernel, a copy or a fill.
inline bool on_stream(const Activity& activity) {
  return activity.kind == ActivityKind::kKernel || activity.kind == ActivityKind::kCopy ||
         activity.kind == ActivityKind::kFill;
}

class Rows {
 public:
  static constexpr std::uint32_t kJob = 1'000;  ///< the process of the job's threads
  static constexpr Row kPhases = {1'001, 0};
  static constexpr Row kIterations = {1'001, 1};

  /// `trace` must outlive this.
  explicit Rows(const Trace& trace);

  static Row of(const Op& op) { return {kJob, op.thread}; }
  [[nodiscard]] Row of(const Activity& activity) const;
  /// Writes the events that name every row that the trace uses.
  void write_names(Events& events) const;

 private:
  [[nodiscard]] std::uint32_t row_of_calls(std::uint32_t thread) const;
  void name_job(Events& events) const;
  void name_device(Events& events) const;

  const Trace& trace_;
  // CUPTI numbers threads in its own way: a thread is the one whose ops made its calls.
  std::map<std::uint32_t, std::uint32_t> thread_of_;
};

}  // namespace stowage::replay
