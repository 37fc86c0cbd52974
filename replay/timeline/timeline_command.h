// `stowage timeline`: a recorded trace as a file that Perfetto and Chrome open.
#pragma once

namespace stowage::replay {

/// Runs the command; `argv[0]` is passed over. Returns the exit status: 0 done, 1 an error, told in one line
/// on standard error.
int timeline_command(int argc, char** argv);

}  // namespace stowage::replay
