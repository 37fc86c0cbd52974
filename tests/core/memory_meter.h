// How much the program has allocated by operator new, measured by replacing it. For single-threaded tests.
#pragma once

#include <cstddef>

namespace stowage::testing {

/// Forgets the peak; it counts from the present use on.
void reset_memory_peak();
/// The most bytes in use at once since reset_memory_peak(), above the use at that time.
std::size_t memory_peak();

}  // namespace stowage::testing
