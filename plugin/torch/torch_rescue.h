// Gives sessions the runtime that evicts and recomputes (recompute/recompute.h) in a real process.
//
// Thread safety: any thread.
#pragma once

namespace stowage::plugin {

/// From now on sessions find the runtime behind rescue.h.
void prepare_rescue();

}  // namespace stowage::plugin
