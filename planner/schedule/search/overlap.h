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
#include <vector>

#include "planner/schedule/model/play.h"

namespace stowage::planner::schedule {

struct Overlapped {
  std::vector<Step> steps;
  Outcome outcome;
};

/// `steps` with their copies moved, if fewer of them are waited for. Requires: `steps` holds at most `budget`
/// bytes, and nothing in it begins a copy ahead of time.
[[nodiscard]] std::optional<Overlapped> overlap_copies(const OpGraph& graph, std::uint64_t budget,
                                                       const std::vector<Step>& steps);

}  // namespace stowage::planner::schedule
