// The command line of `stowage place` as a structure.
//
// Thread safety: functions without state.
#pragma once

#include <optional>
#include <string>

#include "planner/placement/solve.h"

namespace stowage::replay {

struct PlaceArguments {
  std::string problem;
  std::string output;  ///< empty: beside where one stands; "-": standard output; "none": nowhere
  std::optional<Bytes> capacity;
  bool inclusive = false;  ///< `upper` is the last tick alive
  bool json = false;
  bool progress = false;  ///< each better height is said on standard error
  planner::placement::PlaceOptions options;
};

/// Reads the command line; `argv[0]` is passed over. Empty after --help, which is printed. Error:
/// kInvalidArgument, one sentence.
[[nodiscard]] Result<std::optional<PlaceArguments>> parse_place_arguments(int argc, char** argv);

}  // namespace stowage::replay
