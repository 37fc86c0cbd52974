// Where tensors lie that outlive iterations: for an allocator that loses memory between them.
//
// Thread safety: any thread, between ops; takes the runtime's lock. Call with no lock of an allocator held.
#pragma once

#include "core/units.h"

namespace stowage::recompute {

/// Moves what outlives iterations to other memory (away/moved_bytes.h), tensor by tensor in the order of
/// their making: what an op has used in a later iteration than the one that made it, on the default stream or
/// the CPU, but for what a schedule offloads. What rescue has offloaded of it comes back. `device_type`,
/// `device_index`: as for Runtime::make_room(). Ends early where there is no memory. Returns how many bytes
/// lie elsewhere now.
Bytes gather_lasting(int device_type, int device_index);

}  // namespace stowage::recompute
