// Touches of dead device memory by the host: faults with a name.
//
// Thread safety: any thread.
#pragma once

namespace stowage::simulator {

/// Names a touch of dead device memory in the fault's message, then lets the fault take its course.
/// Idempotent.
void install_fault_reporter();

}  // namespace stowage::simulator
