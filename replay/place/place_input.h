// What `stowage place` reads: a CSV file of buffers, or a trace that Stowage has recorded.
//
// Why one type for both: everything behind it (solving, reporting, writing offsets) is the same. A trace's
// steady iteration becomes the problem that the planner would place: buffers have the ordinal of their
// allocation for a name, time is counted in allocations, and the iteration repeats, so that a life may end
// after the period, in the next one. A buffer that overlaps its own successor is there twice, the second one
// with ".spare" behind its name.
//
// Thread safety: functions without state.
#pragma once

#include <filesystem>

#include "planner/placement/problem/csv.h"

namespace stowage::replay {

/// Reads a problem; what kind of file it is its first bytes say, not its name. Errors: those of read_csv,
/// load_trace and find_lifetimes.
[[nodiscard]] Result<planner::placement::CsvTable> read_place_input(
    const std::filesystem::path& path, const planner::placement::CsvOptions& options);

}  // namespace stowage::replay
