// PyTorch's words for a CUDA allocation that failed, made true for a process with Stowage.
//
// Thread safety: pure functions.
#pragma once

#include <string>

namespace stowage::plugin {

/// PyTorch's message without its advice to set expandable_segments:True, for where that is on already.
std::string without_known_advice(std::string message);

}  // namespace stowage::plugin
