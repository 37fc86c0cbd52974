// Gives the runtime a store for offloaded CPU tensors, as the settings say.
//
// Thread safety: the control lock guards it.
#pragma once

#include "session/settings/settings.h"

namespace stowage::plugin {

/// Under a budget, or where evictions are forced: opens a spill file in settings.spill. A folder that cannot
/// be used is one warning; the job goes on, and nothing is offloaded.
void offload_as(const session::Settings& settings);

}  // namespace stowage::plugin
