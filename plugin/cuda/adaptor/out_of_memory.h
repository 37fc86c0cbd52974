// Corrects PyTorch's out-of-memory message where it is wrong for a process with Stowage.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "core/units.h"

namespace stowage::plugin {

/// PyTorch's message without its advice to set expandable_segments:True, for where that is on already.
std::string without_known_advice(std::string message);

/// PyTorch's message with the `allowed` bytes of the user's fraction, in place of the bytes left beside the
/// arena.
std::string with_users_fraction(std::string message, Bytes allowed);

}  // namespace stowage::plugin
