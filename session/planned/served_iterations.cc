#include "session/planned/served_iterations.h"

#include <string>
#include <utility>

#include "session/settings/notice.h"

namespace stowage::session {

void ServedIterations::restart() {
  const allocator::ServeCounts counts = arena_.allocator().counts();
  requests_before_ = requests_at_mark_ = counts.requests();
  off_plan_at_mark_ = counts.off_plan();
}

std::optional<ServedIteration> ServedIterations::on_mark(MarkSource source) {
  arena_.shrink_former();
  allocator::PlannedAllocator& now = arena_.allocator();
  const allocator::ServeCounts before = now.counts();
  if (std::exchange(requests_at_mark_, before.requests()) == before.requests()) return std::nullopt;
  now.on_mark();
  const bool left_plan = std::exchange(off_plan_at_mark_, before.off_plan()) != before.off_plan();
  if (recording_.is_on()) {
    recording_.recorder().on_mark(source);
    if (left_plan) now.learn_lives(recording_.recorder().lives_of_window());
  }
  const UpstreamUse use = port_.upstream_use();
  const Bytes outside = arena_.outside_bytes(use);
  now.set_outside_bytes(outside);
  guard_.note_reserved(use.reserved);
  const allocator::ServeCounts counts = now.counts();
  if (counts.iterations == before.iterations) return std::nullopt;
  if (counts.last_iteration_misses == 0) guard_.note_lasting(outside, use.reserved);
  return finish(counts);
}

ServedIteration ServedIterations::finish(const allocator::ServeCounts& counts) {
  const std::uint64_t made = counts.requests() - std::exchange(requests_before_, counts.requests());
  const std::uint64_t missed = counts.last_iteration_misses;
  if (counts.iterations == 1 &&
      !counts_first_peaks_) {  // until now upstream still held what the arena serves: no peaks of the job's
    arena_.allocator().reset_peak();
    guard_.reset_peak();
  }
  if (missed != 0)
    note(2, "iteration with " + std::to_string(missed) + " of " + std::to_string(made) +
                " requests off the plan");
  return {made, missed, guard_.reserved_in_iteration(), false};
}

}  // namespace stowage::session
