// The end of the process: the report and the trace that the settings ask for, and a planner that is waited
// for.
//
// Thread safety: any thread.
#pragma once

#include "session/settings/settings.h"

namespace stowage::plugin {

/// finish() will run at exit with `settings`. Later calls change the settings.
void finish_at_exit(const session::Settings& settings);
/// Runs once; in a forked child never. Writes nothing if there is nothing to report. Failures are warnings.
void finish() noexcept;
/// This process works for another one (loads its data, say): finish() writes nothing.
void finish_quietly() noexcept;

}  // namespace stowage::plugin
