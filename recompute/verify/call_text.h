// A recorded call in words, for people who look for wrong bits: the op, its arguments, torch's settings.
//
// Thread safety: the caller holds the runtime's lock.
#pragma once

#include <string>

#include "recompute/recipe/value.h"

namespace stowage::recompute {

/// Three lines, each indented by two spaces: op, arguments, settings.
std::string text_of(const Recipe& recipe);
/// Such as `float32 (64, 512) on cpu, strides (1, 64)`.
std::string text_of(const Geometry& tensor);

}  // namespace stowage::recompute
