// Formats figures for messages.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "core/units.h"

namespace stowage::session {

/// "12 MiB": rounded to the nearest.
std::string in_mib(Bytes bytes);
/// "1.250 ms".
std::string in_ms(std::uint64_t ns);
/// "1st", "2nd", "3rd", "4th", "11th", "21st".
std::string ordinal(std::uint64_t number);

}  // namespace stowage::session
