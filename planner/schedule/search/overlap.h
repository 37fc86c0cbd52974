// Lets the copies of a schedule run beside ops, where the log says that they may.
//
// A copy to the store begins as soon as the content is final, and the buffer is offloaded when the copy is
// done. A copy back begins so that it is done when an op wants the buffer. Both hold memory for longer: as
// far as the budget has room at that time. Copies there are laid out from the iteration's beginning on,
// copies back from its end, each queue without overlaps of its own; what comes of both is played.
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/schedule/model/play.h"

namespace stowage::planner::schedule {

/// `found` with its copies moved, if that costs less. `course`: what happened when it was played. Requires:
/// `found` holds at most `budget` bytes, and nothing in it begins a copy ahead of time.
[[nodiscard]] std::optional<Found> overlap_copies(const OpGraph& graph, std::uint64_t budget,
                                                  const Found& found, const Course& course);

}  // namespace stowage::planner::schedule
