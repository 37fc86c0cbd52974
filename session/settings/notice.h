// Messages to the user: one line each, on stderr, beginning with "stowage: ".
//
// Thread safety: any thread; a line is written in one call. Never throws.
#pragma once

#include <cstdint>
#include <string>

namespace stowage::session {

/// Something went wrong or was given up. Always printed.
void warn(const std::string& text) noexcept;
/// Printed from verbosity `level` (1 or 2) on.
void note(std::uint64_t level, const std::string& text) noexcept;
/// The process's verbosity: 0, 1 or 2 (Settings::verbose).
void set_verbosity(std::uint64_t level) noexcept;

}  // namespace stowage::session
