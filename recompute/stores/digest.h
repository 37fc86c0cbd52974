// A digest of bytes, to tell whether they are the same as before.
//
// Thread safety: a pure function.
#pragma once

#include <cstdint>

namespace stowage::recompute {

/// A digest of `bytes` of CPU memory, as fast as they are read.
std::uint64_t digest_of(const void* data, std::uint64_t bytes);

}  // namespace stowage::recompute
