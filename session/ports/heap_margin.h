// How much of a limit a schedule leaves to the heap.
//
// A heap rounds the same blocks differently in each run, and a request counts them before a log shows them.
// A schedule is therefore made for less than the limit, and one that an earlier run made may take up to the
// limit in this run's log.
#pragma once

#include <algorithm>

#include "core/units.h"

namespace stowage::session {

/// Bytes: 1/512 of the limit; of a small one 1/128, 16 KiB to 32 KiB.
[[nodiscard]] inline Bytes heap_margin(Bytes limit) {
  constexpr std::uint64_t kKib = 1024;
  return Bytes(std::max(limit.value() / 512, std::clamp(limit.value() / 128, 16 * kKib, 32 * kKib)));
}

/// Bytes that PyTorch's allocator loses on CUDA in pages that are partly used, where what lasts lies together
/// (session/rescue/lasting_memory.h): 8 MiB and 1/512 of the limit, as measured from 0.3 to 16 GiB; 1/64 of a
/// small one.
[[nodiscard]] inline Bytes page_margin(Bytes limit) {
  constexpr std::uint64_t kPages = std::uint64_t{8} << 20;
  return Bytes(std::min(limit.value() / 64, kPages + limit.value() / 512));
}

}  // namespace stowage::session
