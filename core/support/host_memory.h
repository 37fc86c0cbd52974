// How much memory this machine, or the container that the process runs in, has.
//
// Thread safety: any thread.
#pragma once

#include "core/units.h"

namespace stowage {

/// The machine's, or the limit of the container; 0: not known.
[[nodiscard]] Bytes host_memory();
/// Of these what nobody uses now; 0: not known.
[[nodiscard]] Bytes free_host_memory();

}  // namespace stowage
