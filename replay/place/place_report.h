// What `stowage place` says about a placement, for people and for programs.
//
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "planner/placement/problem/csv.h"

namespace stowage::replay {

struct PlaceReport {
  const planner::placement::CsvTable& table;
  const planner::placement::Solution& solution;
  double seconds = 0;      ///< of solving, by the clock
  double cpu_seconds = 0;  ///< of solving, all threads together
  std::string output;      ///< where the offsets went; empty: nowhere
};

/// True if the bound is above the capacity.
[[nodiscard]] bool is_proved_too_small(const PlaceReport& report);

/// A few lines. Buffers have their names of the file.
[[nodiscard]] std::string to_text(const PlaceReport& report);

/// height, lower_bound, proved, technique, seconds; cpu_seconds, gap, work, n; capacity, fits and conflict
/// where there is a capacity; output. Bytes are numbers.
[[nodiscard]] nlohmann::json to_json(const PlaceReport& report);

/// One line for a placement on the way.
[[nodiscard]] std::string progress_line(const planner::placement::Solution& solution);

}  // namespace stowage::replay
