// PyTorch's message for a CUDA allocation that failed, corrected for a process with Stowage.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "core/units.h"

namespace stowage::plugin {

/// PyTorch's message without its advice to set expandable_segments:True, for where that is on already.
std::string without_known_advice(std::string message);

/// PyTorch's message with the `allowed` bytes of the user's fraction, where it names those left beside the
/// arena.
std::string with_users_fraction(std::string message, Bytes allowed);

}  // namespace stowage::plugin
