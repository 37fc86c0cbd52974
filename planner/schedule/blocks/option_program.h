// Which of a block's buffers to drop, as a mixed-integer program: at least so many bytes, for the least time
// of the ops that run again.
//
// A binary for each buffer that may be dropped, and for each op whether it runs, which is at least what each
// buffer that it is in the closure of is; lp_solve searches. Thread safety: pure. Deterministic: the work is
// counted, not timed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/schedule/blocks/block.h"

namespace stowage::planner::schedule {

/// By item: kept. Drops at least `least` bytes for less than `most_ns`; empty if the search ended without
/// such a choice, proven or not.
[[nodiscard]] std::optional<std::vector<bool>> cheaper_choice(const Block& block, std::uint64_t least,
                                                              std::uint64_t most_ns);

}  // namespace stowage::planner::schedule
