// How high an arena would be that holds all that comes and goes in an iteration, together with what stays.
//
// Thread safety: pure. Deterministic.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "core/result.h"
#include "planner/schedule/model/model.h"

namespace stowage::planner::schedule {

/// Bytes from before the iteration that stay all through it, plus the height of a placement of the rest.
/// Stops looking for a lower one at `enough` bytes. Errors: those of placement::place.
[[nodiscard]] Result<std::uint64_t> arena_height(const std::vector<Span>& spans, std::uint64_t enough,
                                                 const std::stop_token& stop);

}  // namespace stowage::planner::schedule
