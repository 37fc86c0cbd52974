// The end of the process: the report and the trace that the settings ask for, and a planner that is waited
// for.
//
// Thread safety: any thread.
#pragma once

#include "plugin/settings.h"

namespace stowage::plugin {

/// finish() will run at exit with `settings`. Later calls change the settings.
void finish_at_exit(const Settings& settings);
/// Once; in a forked child never. Failures are warnings.
void finish() noexcept;

}  // namespace stowage::plugin
