// `stowage place`: offsets for the buffers of a CSV file or a recorded trace, without torch or a GPU.
#pragma once

namespace stowage::replay {

/// What the program's exit status says.
enum class PlaceExit : int {
  kPlaced = 0,
  kError = 1,     ///< one line on standard error says what is wrong
  kTooSmall = 3,  ///< it is proved that nothing fits the capacity
  kNotFound = 4,  ///< the limits ended the search; something may fit the capacity
};

/// Runs the command; `argv[0]` is passed over. Returns the exit status.
int place_command(int argc, char** argv);

}  // namespace stowage::replay
