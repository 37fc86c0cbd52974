// `stowage cache`: lists and removes the plans that are kept between runs. Needs no torch and no GPU.
#pragma once

namespace stowage::replay {

/// Runs the command; `argv[0]` is passed over. Returns the exit status: 0 done; 1 an error, told in one line
/// on standard error.
int cache_command(int argc, char** argv);

}  // namespace stowage::replay
