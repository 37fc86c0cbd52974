// Placement problems as the CSV files of minimalloc (Moffitt, ASPLOS 2023) and idealloc (Lamprakos et al.,
// 2025).
//
// The first line names the columns, in any order: id, lower, upper, size, and if wanted alignment, hint,
// gaps, offset; others are passed over. `begin` and `start` are lower, `buffer` and `buffer_id` are id, and
// `end` is upper. A life is half-open, [lower, upper); but the last column's name matters: an `end` is the
// last tick that is still alive, and so is the end of a gap in such a file. Gaps are separated by blanks:
// `begin-end`, or `begin-end@low:high` where the bytes [low, high) of the buffer stay in use. A buffer with
// an offset is fixed there. A hint of -1 is none; other hints are kept and not used. An empty line ends the
// problem. minimalloc's alignment is 1 unless it says otherwise. Fields are not quoted.
//
// idealloc reads the first four columns only. Of its three input kinds `ex-csv` and `in-ex-csv` are both
// half-open as to which buffers may share bytes, and `in-csv` (IREE's) is inclusive: that is
// CsvOptions::inclusive.
//
// Why our own reader: the format is lines split at commas, with an end, synonyms and gaps that the CSV
// libraries at hand do not know.
//
// Thread safety: functions without state.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/placement/problem/problem.h"

namespace stowage::planner::placement {

struct CsvOptions {
  bool inclusive = false;  ///< `upper`, too, is the last tick that is still alive
};

/// A problem and what its file says beside it.
struct CsvTable {
  Problem problem;
  std::vector<std::string> columns;            ///< names in the file's order, as they stand there
  std::vector<std::string> ids;                ///< by item
  std::vector<std::optional<Offset>> hints{};  ///< by item; empty if there is no such column
  bool inclusive = false;                      ///< the file gives last ticks, not half-open ends
};

/// Reads a problem; `name` is what errors call it. Error: kInvalidArgument with name and line for a missing
/// or double column, a line of another length, a number that is none or negative, an end before its
/// beginning, a gap outside its buffer, an alignment of 0, a misaligned offset, or sums beyond
/// kMaxTotalBytes.
[[nodiscard]] Result<CsvTable> parse_csv(std::string_view text, const std::string& name,
                                         const CsvOptions& options = {});

/// The same from a file. Further errors: kNotFound, kIo.
[[nodiscard]] Result<CsvTable> read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

/// A table that has `problem` and nothing else, with indices for ids. Error: kUnsupported for a period,
/// several stream classes or regions, and for fixed offsets of some items only: the format has no way to say
/// them.
[[nodiscard]] Result<CsvTable> make_table(const Problem& problem);

/// The table as a file, with the columns that it had; those that the reader passed over are left out. With
/// `offsets` (by item) there is a column for them; without, it has the fixed ones if the table has it.
[[nodiscard]] std::string to_csv(const CsvTable& table, std::span<const Offset> offsets);

}  // namespace stowage::planner::placement
